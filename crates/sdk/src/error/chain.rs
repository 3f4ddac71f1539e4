//! Messages of an error and its causes.

use std::error::Error as StdError;

/// Returns an error and its causes, the outermost first.
pub(super) fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        Some(cause)
    })
}

/// Returns an error and its causes on one line. Parts of it may come from a registry or a guest, so
/// control characters are escaped.
pub(crate) fn line(error: &(dyn StdError + 'static)) -> String {
    let mut line = String::new();
    for (depth, cause) in causes(error).enumerate() {
        let text = cause.to_string();
        // A cause whose text ends the line already adds nothing.
        if depth > 0 && line.ends_with(&text) {
            continue;
        }
        if depth > 0 {
            line.push_str(": ");
        }
        line.push_str(&text);
    }
    printable(&line)
}

/// Returns `text` on one line, with hidden characters escaped.
pub(crate) fn printable(text: &str) -> String {
    terminal_text::escaped(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_printable() {
        assert_eq!(
            printable("\u{1b}[31mno\nreally\u{202e}"),
            "\\u{1b}[31mno\\nreally\\u{202e}"
        );
    }
}
