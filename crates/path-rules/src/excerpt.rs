use terminal_text::Escaper;

/// Bytes of a refused text that an error shows.
const SHOWN_MAX_BYTES: usize = 80;

/// Returns the beginning of a text as a message may show it.
pub(crate) fn excerpt(text: &[u8]) -> String {
    let beginning = text.get(..SHOWN_MAX_BYTES).unwrap_or(text);
    let mut escaper = Escaper::default();
    let mut shown = escaper.escape(beginning);
    if beginning.len() == text.len() {
        shown.extend(escaper.finish());
    } else {
        shown.extend_from_slice("…".as_bytes());
    }
    // Newlines and tabs are left.
    terminal_text::escaped(&String::from_utf8_lossy(&shown)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(excerpt("déjà".as_bytes()), "déjà");
        assert_eq!(excerpt(b"a\xff\n\x1b"), r"a\xff\n\u{1b}");
        let long = excerpt(&[b'x'; 5000]);
        assert_eq!(long.chars().count(), SHOWN_MAX_BYTES + 1);
        // A character is not cut.
        assert!(excerpt("é".repeat(41).as_bytes()).ends_with("é…"));
        assert!(excerpt(format!("x{}", "é".repeat(41)).as_bytes()).ends_with("é…"));
    }
}
