/// Returns the beginning of a text, of at most `max_bytes` bytes.
pub(crate) fn beginning(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}
