//! The search of one text in a body that comes in pieces.

use std::fmt;

use memchr::memmem;
use zeroize::Zeroizing;

use crate::forms::forms_of;

/// The largest number of bytes of a needle's begin that are passed on.
pub(crate) const SHOWN_MAX: usize = 4;

/// A text that an answer is searched for.
pub(crate) struct Needle {
    bytes: Zeroizing<Vec<u8>>,
    /// For each prefix of the text, the length of the longest proper prefix of it that is also its suffix.
    borders: Vec<u16>,
}

impl fmt::Debug for Needle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

impl Needle {
    /// Returns the texts that show a value.
    pub(crate) fn all_of(value: &str) -> Vec<Self> {
        forms_of(value).into_iter().map(Self::new).collect()
    }

    /// Returns the memory that the needle takes, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.borders.capacity() * size_of::<u16>()
    }

    fn new(bytes: Zeroizing<Vec<u8>>) -> Self {
        let mut needle = Self {
            borders: Vec::with_capacity(bytes.len()),
            bytes,
        };
        for end in 0..needle.bytes.len() {
            let border = needle.next_border(end);
            needle.borders.push(border);
        }
        needle
    }

    /// Returns the border of the prefix that ends with the byte at `end`. Those of shorter ones are known.
    fn next_border(&self, end: usize) -> u16 {
        let last = self.bytes.get(end);
        let mut length = self.border(end);
        while length > 0 && self.bytes.get(length) != last {
            length = self.border(length);
        }
        let grows = end > 0 && self.bytes.get(length) == last;
        // The longest value has fewer bytes than that in every form.
        u16::try_from(length + usize::from(grows)).unwrap_or(u16::MAX)
    }

    /// Returns the border of the first `length` bytes.
    fn border(&self, length: usize) -> usize {
        length
            .checked_sub(1)
            .and_then(|last| self.borders.get(last))
            .map_or(0, |border| usize::from(*border))
    }

    /// Returns the text.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns true if a text holds the needle.
    pub(crate) fn is_in(&self, text: &[u8]) -> bool {
        memmem::find(text, &self.bytes).is_some()
    }

    /// Returns true if a text holds the needle in lower or upper case.
    pub(crate) fn is_in_any_case(&self, text: &[u8]) -> bool {
        let mut parts = text.windows(self.bytes.len().max(1));
        parts.any(|part| part.eq_ignore_ascii_case(&self.bytes))
    }

    /// Returns the number of bytes to hold back of a text that ends with `state` bytes of the needle.
    ///
    /// A few, at most a quarter of the needle, are passed on: a message of a stream that ends with the first letter of
    /// a value would wait for the next message.
    pub(crate) fn held(&self, state: usize) -> usize {
        let shown = SHOWN_MAX.min(self.bytes.len() / 4);
        if state > shown { state } else { 0 }
    }

    /// Returns the number of bytes of the needle that a text ends with, once `bytes` follow a text that ends with
    /// `state` of them; `None` if the needle is in the text.
    pub(crate) fn advance(&self, state: usize, bytes: &[u8]) -> Option<usize> {
        let length = self.bytes.len();
        if bytes.len() <= 2 * length {
            return self.step(state, bytes);
        }
        // A needle that began earlier ends within the first `length` bytes. The search of all bytes at once is
        // much faster than one by one. The last ones show whether a needle begins there.
        let (first, _) = bytes.split_at(length);
        let (_, last) = bytes.split_at(bytes.len() - length);
        self.step(state, first)?;
        if self.is_in(bytes) {
            return None;
        }
        self.step(0, last)
    }

    /// Does the same byte by byte.
    fn step(&self, mut state: usize, bytes: &[u8]) -> Option<usize> {
        for byte in bytes {
            while state > 0 && self.bytes.get(state) != Some(byte) {
                state = self.border(state);
            }
            if self.bytes.get(state) == Some(byte) {
                state += 1;
            }
            if state == self.bytes.len() {
                return None;
            }
        }
        Some(state)
    }
}
