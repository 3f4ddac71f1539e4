use crate::is_hidden_in_line;

/// Escapes the hidden characters of a stream of bytes, which is text for the most part. Newlines and
/// tabs stay, and a byte that is not UTF-8 is shown as `\x..`: a terminal may take it for a control
/// character of eight bits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Escaper {
    /// The beginning of a character whose end has not come.
    begun: Vec<u8>,
    has_escaped: bool,
}

impl Escaper {
    /// Returns the next bytes of the stream in the form in which a terminal may get them. A character
    /// that is not complete comes with the bytes that complete it.
    pub fn escape(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut due = std::mem::take(&mut self.begun);
        due.extend_from_slice(bytes);
        let mut shown = Vec::with_capacity(due.len() + 16);
        let mut chunks = due.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.push_text(chunk.valid(), &mut shown);
            let invalid = chunk.invalid();
            if chunks.peek().is_none() && is_begun_character(invalid) {
                self.begun = invalid.to_vec();
            } else {
                self.push_bytes(invalid, &mut shown);
            }
        }
        shown
    }

    /// Returns the rest of a stream that has ended.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut shown = Vec::new();
        let begun = std::mem::take(&mut self.begun);
        self.push_bytes(&begun, &mut shown);
        shown
    }

    /// Returns true if anything of the stream was escaped.
    #[must_use]
    pub const fn has_escaped(&self) -> bool {
        self.has_escaped
    }

    fn push_text(&mut self, text: &str, shown: &mut Vec<u8>) {
        let text_shown = crate::escaped_lines(text);
        self.has_escaped |= text.contains(is_hidden_in_line);
        shown.extend_from_slice(text_shown.as_bytes());
    }

    fn push_bytes(&mut self, bytes: &[u8], shown: &mut Vec<u8>) {
        for byte in bytes {
            self.has_escaped = true;
            shown.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
        }
    }
}

/// Returns true if the bytes are the beginning of a character of UTF-8, which more bytes may end.
fn is_begun_character(bytes: &[u8]) -> bool {
    let error = std::str::from_utf8(bytes).err();
    error.is_some_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(chunks: &[&[u8]]) -> (String, bool) {
        let mut escaper = Escaper::default();
        let mut shown: Vec<u8> = (chunks.iter())
            .flat_map(|chunk| escaper.escape(chunk))
            .collect();
        shown.extend(escaper.finish());
        let text = String::from_utf8(shown).expect("text");
        (text, escaper.has_escaped())
    }

    #[test]
    fn plain_text_passes_unchanged_wherever_it_is_cut() {
        let text = "+\tdéjà vu 漢🦀\n";
        for cut in 0..=text.len() {
            let (before, after) = text.as_bytes().split_at(cut);
            assert_eq!(shown(&[before, after]), (text.to_owned(), false), "{cut}");
        }
    }

    #[test]
    fn control_characters_are_escaped_wherever_they_are_cut() {
        let text = "a\u{1b}[K\u{202e}\u{9b}1m\r\n".as_bytes();
        let expected = "a\\u{1b}[K\\u{202e}\\u{9b}1m\\r\n".to_owned();
        for cut in 0..=text.len() {
            let (before, after) = text.split_at(cut);
            assert_eq!(shown(&[before, after]), (expected.clone(), true), "{cut}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_escaped() {
        let (text, is_escaped) = shown(&[b"caf\xe9 \x9b2J", b"\xf0\x9f"]);
        assert_eq!(text, "caf\\xe9 \\x9b2J\\xf0\\x9f");
        assert!(is_escaped);
    }
}
