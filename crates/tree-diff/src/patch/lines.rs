use std::ops::Range;

/// A text with the offsets at which its lines end.
pub(super) struct Lines<'a> {
    text: &'a [u8],
    ends_bytes: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        let mut end_bytes = 0;
        let ends = text.split_inclusive(|&byte| byte == b'\n').map(|line| {
            end_bytes += line.len();
            end_bytes
        });
        Self {
            text,
            ends_bytes: ends.collect(),
        }
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.ends_bytes.len()).expect("a text has fewer than 2^32 lines")
    }

    /// Returns the bytes of a range of lines.
    pub(super) fn bytes(&self, lines: &Range<u32>) -> &'a [u8] {
        let offset_bytes = |line: u32| match line.checked_sub(1) {
            None => 0,
            Some(before) => {
                let end = self.ends_bytes.get(before as usize);
                end.copied().unwrap_or(self.text.len())
            }
        };
        &self.text[offset_bytes(lines.start)..offset_bytes(lines.end)]
    }
}
