//! Values on the kernel's command line, from which the guest's agent reads them.

use std::fmt::Write as _;

/// Writes a value as one word: bytes that could end it, or separate its parts, become `%` and two hex digits.
pub fn encode(value: &str) -> String {
    escaped(value, |byte| {
        byte.is_ascii_alphanumeric() || b"/._-+@".contains(&byte)
    })
}

/// Reads the word of [`encode`]. `None` if hex digits are missing or the value is not UTF-8.
pub fn decode(word: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = word.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let value = digit(rest.next())? * 16 + digit(rest.next())?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// Writes JSON as one word. The kernel takes double quotes for its own, so they become single ones.
pub fn encode_json(json: &str) -> String {
    let is_kept = |byte: u8| byte.is_ascii_graphic() && !b"%'".contains(&byte);
    escaped(json, is_kept).replace('"', "'")
}

/// Reads the word of [`encode_json`]. `None` if hex digits are missing or the text is not UTF-8.
pub fn decode_json(word: &str) -> Option<String> {
    decode(&word.replace('\'', "\""))
}

fn escaped(value: &str, is_kept: impl Fn(u8) -> bool) -> String {
    let mut word = String::new();
    for byte in value.bytes() {
        if is_kept(byte) {
            word.push(char::from(byte));
        } else {
            let _ = write!(word, "%{byte:02x}");
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive() {
        for value in ["", "/a b;c", "ä=%41", "1,2", "\u{7f}\t"] {
            let word = encode(value);
            assert!(
                word.bytes()
                    .all(|byte| byte.is_ascii_graphic() && byte != b';')
            );
            assert_eq!(decode(&word).as_deref(), Some(value));
            let word = encode_json(value);
            assert!(word.bytes().all(|byte| byte.is_ascii_graphic()), "{word}");
            assert_eq!(decode_json(&word).as_deref(), Some(value));
        }
        assert_eq!(encode("/a b;c"), "/a%20b%3bc");
        assert_eq!(encode_json(r#"{"a":"it's"}"#), "{'a':'it%27s'}");
    }

    #[test]
    fn other_words_are_refused() {
        for word in ["%", "%f", "%zz", "%ff"] {
            assert_eq!((decode(word), decode_json(word)), (None, None), "{word}");
        }
    }
}
