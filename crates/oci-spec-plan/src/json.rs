//! JSON, bounded before it is parsed: its bytes, its depth and the number of its values.

use serde_json::Value;

use crate::SpecError;

/// The longest specification, in bytes. etcd limits what Kubernetes can describe to 1.5 MiB, and a pod's variables for
/// services and the profile of system calls come on top.
pub const CONFIG_MAX_BYTES: usize = 4 << 20;
/// The most levels. The deepest field of the runtime specification has seven.
pub const DEPTH_MAX: usize = 32;
/// The most values. docker's profile of system calls has about 600.
pub const ENTRIES_MAX: usize = 200_000;

/// Parses a text within the bounds.
pub(crate) fn parse(text: &[u8]) -> Result<Value, SpecError> {
    if text.len() > CONFIG_MAX_BYTES {
        return Err(SpecError::TooLong { bytes: text.len() });
    }
    check(text)?;
    Ok(serde_json::from_slice(text)?)
}

/// Counts the levels and values by the punctuation outside of strings.
fn check(text: &[u8]) -> Result<(), SpecError> {
    let mut depth = 0_usize;
    let mut entries = 0_usize;
    let mut is_string = false;
    let mut is_escaped = false;
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'{' | b'[' => {
                depth += 1;
                entries += 1;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => entries += 1,
            _ => {}
        }
        if depth > DEPTH_MAX {
            return Err(SpecError::TooDeep);
        }
        if entries > ENTRIES_MAX {
            return Err(SpecError::TooManyEntries);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_bounded_before_it_is_parsed() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(DEPTH_MAX).as_bytes()).is_ok());
        let error = parse(nested(DEPTH_MAX + 1).as_bytes());
        assert!(matches!(error, Err(SpecError::TooDeep)));
        let wide = |count: usize| format!("[{}0]", "0,".repeat(count));
        assert!(parse(wide(ENTRIES_MAX - 1).as_bytes()).is_ok());
        let error = parse(wide(ENTRIES_MAX).as_bytes());
        assert!(matches!(error, Err(SpecError::TooManyEntries)));
        let long = " ".repeat(CONFIG_MAX_BYTES + 1);
        let error = parse(long.as_bytes());
        assert!(matches!(error, Err(SpecError::TooLong { bytes }) if bytes == long.len()));
    }

    #[test]
    fn punctuation_in_strings_does_not_count() {
        let text = format!(r#"{{"a\"": "{}\\"}}"#, "[{,".repeat(ENTRIES_MAX));
        assert!(parse(text.as_bytes()).is_ok());
    }

    #[test]
    fn a_text_that_is_not_json_is_an_error() {
        for text in ["", "{", "]]]]", "\"", "{} {}", "\u{0}"] {
            assert!(
                matches!(parse(text.as_bytes()), Err(SpecError::Parse(_))),
                "{text:?}"
            );
        }
    }
}
