//! The beginning and the end of a stream of any length.

use std::collections::VecDeque;

/// The most bytes of the beginning that are kept, and of the end.
const HALF_BYTES: usize = 16 << 10;
/// The most bytes of the end in which the last line is looked for.
const LINE_BYTES: usize = 4 << 10;
/// The most characters of the last line that are shown.
const LINE_CHARACTERS: usize = 200;

/// The beginning and the end of a stream, 32 KiB together.
#[derive(Debug, Default)]
pub(crate) struct BoundedText {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

/// The text of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// The text; a line in its middle says how many bytes are left out.
    pub(crate) text: String,
    /// The number of bytes that are left out; 0 if the text is whole.
    pub(crate) left_out: u64,
}

impl BoundedText {
    /// Adds bytes. Of those in the middle only the number is kept.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = HALF_BYTES.saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let rest = rest.split_at(rest.len().saturating_sub(HALF_BYTES)).1;
        let surplus = (self.tail.len() + rest.len()).saturating_sub(HALF_BYTES);
        self.tail.drain(..surplus.min(self.tail.len()));
        self.tail.extend(rest);
    }

    /// Returns the last line that is not blank, without characters that a terminal acts on, and cut if it is long;
    /// `None` if there is no such line.
    pub(crate) fn last_line(&self) -> Option<String> {
        let newest = if self.tail.is_empty() {
            let start = self.head.len().saturating_sub(LINE_BYTES);
            self.head.iter().skip(start).copied().collect::<Vec<u8>>()
        } else {
            let start = self.tail.len().saturating_sub(LINE_BYTES);
            self.tail.iter().skip(start).copied().collect()
        };
        let text = String::from_utf8_lossy(&newest);
        let line = text
            .rsplit(['\n', '\r'])
            .map(str::trim)
            .find(|line| !line.is_empty())?;
        let line = terminal_text::escaped(line);
        Some(line.chars().take(LINE_CHARACTERS).collect())
    }

    /// Returns the text. Bytes that are not UTF-8 are replaced.
    pub(crate) fn finish(self) -> Text {
        let tail: Vec<u8> = self.tail.into();
        let kept = (self.head.len() + tail.len()) as u64;
        if kept == self.total {
            let whole = [self.head, tail].concat();
            return Text {
                text: String::from_utf8_lossy(&whole).into_owned(),
                left_out: 0,
            };
        }
        let head = without_cut_end(&self.head);
        let tail = without_cut_start(&tail);
        let left_out = self.total.saturating_sub((head.len() + tail.len()) as u64);
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        Text {
            text: format!("{head}\n[... {left_out} bytes are left out ...]\n{tail}"),
            left_out,
        }
    }
}

/// Returns bytes without the beginning of a character at their end.
pub(crate) fn without_cut_end(bytes: &[u8]) -> &[u8] {
    let length = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        // Bytes that are no text may end in the beginning of a character, too: it is replaced then.
        _ => bytes.len(),
    };
    bytes.split_at(length).0
}

/// Returns bytes without the end of a character at their start.
fn without_cut_start(bytes: &[u8]) -> &[u8] {
    let is_continuation = |byte: &&u8| **byte & 0xc0 == 0x80;
    let cut = bytes.iter().take(3).take_while(is_continuation).count();
    bytes.split_at(cut).1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(chunks: &[&[u8]]) -> Text {
        let mut bounded = BoundedText::default();
        for chunk in chunks {
            bounded.push(chunk);
        }
        bounded.finish()
    }

    #[test]
    fn what_fits_is_whole() {
        let whole = vec![b'x'; 2 * HALF_BYTES];
        let found = text(&[&whole]);
        assert_eq!((found.text.len(), found.left_out), (whole.len(), 0));
        assert_eq!(text(&[b"a", b"b\xff"]).text, "ab\u{fffd}");
    }

    #[test]
    fn the_middle_of_a_long_text_is_counted() {
        let long = vec![b'x'; 10 << 20];
        let found = text(&[b"first\n", &long, b"\nlast"]);
        assert_eq!(found.left_out, (10 << 20) + 11 - (2 * HALF_BYTES) as u64);
        assert!(found.text.starts_with("first\nx"), "the beginning");
        assert!(found.text.ends_with("x\nlast"), "the end");
        let marker = format!("\n[... {} bytes are left out ...]\n", found.left_out);
        assert!(found.text.contains(&marker), "the marker");
    }

    #[test]
    fn characters_are_not_cut() {
        let long = "é".repeat(HALF_BYTES);
        // One byte before them puts each cut into a character.
        let found = text(&[b"x", long.as_bytes()]);
        assert!(!found.text.contains('\u{fffd}'), "a character is cut");
        let shown = found.text.matches('é').count();
        assert_eq!(found.left_out, ((HALF_BYTES - shown) * 2) as u64);
    }

    #[test]
    fn the_last_line_is_that_of_the_newest_output() {
        let mut bounded = BoundedText::default();
        assert_eq!(bounded.last_line(), None);
        bounded.push(b"one\n10%\r20%\x1b[K\r\n\n");
        assert_eq!(bounded.last_line().as_deref(), Some("20%\\u{1b}[K"));
        bounded.push(&vec![b'y'; 3 * HALF_BYTES]);
        let line = bounded.last_line().expect("a line");
        assert_eq!(line.len(), LINE_CHARACTERS);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_uncounted(lengths in prop::collection::vec(0_usize..20_000, 0..12)) {
            let chunks: Vec<Vec<u8>> = lengths.iter().map(|&length| vec![b'z'; length]).collect();
            let mut bounded = BoundedText::default();
            for chunk in &chunks {
                bounded.push(chunk);
                prop_assert!(bounded.head.len() <= HALF_BYTES && bounded.tail.len() <= HALF_BYTES);
            }
            let total: usize = lengths.iter().sum();
            let found = bounded.finish();
            let shown = found.text.matches('z').count();
            prop_assert_eq!(shown as u64 + found.left_out, total as u64);
        }
    }
}
