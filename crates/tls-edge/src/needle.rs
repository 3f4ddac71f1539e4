//! The texts that an answer is searched for: a value, and its encoded forms.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::memmem;
use zeroize::Zeroizing;

/// The shortest encoded form that is searched for: answers hold shorter ones by chance.
const ENCODED_MIN: usize = 4;

/// The largest number of bytes of a needle's begin that are passed on.
pub(crate) const SHOWN_MAX: usize = 4;

/// The characters besides letters, digits and `-._~` that encoders of URLs leave in place.
const LEFT_BY_ENCODERS: [&[u8]; 3] = [b"", b"!'()*", b"/"];

const UPPER: &[u8; 16] = b"0123456789ABCDEF";
const LOWER: &[u8; 16] = b"0123456789abcdef";

/// A text that an answer is searched for.
pub(crate) struct Needle {
    bytes: Zeroizing<Vec<u8>>,
    /// For each prefix of the text, the length of the longest proper prefix of it that is also its suffix.
    borders: Vec<u32>,
}

impl fmt::Debug for Needle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

impl Needle {
    /// Returns the texts that show a value: the value, its base64 at each offset, and its forms in URLs.
    pub(crate) fn all_of(value: &str) -> Vec<Self> {
        let value = value.as_bytes();
        let mut texts = vec![Zeroizing::new(value.to_vec())];
        for text in base64_forms(value).into_iter().chain(url_forms(value)) {
            if text.len() >= ENCODED_MIN && !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts.into_iter().map(Self::new).collect()
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
    fn next_border(&self, end: usize) -> u32 {
        let last = self.bytes.get(end);
        let mut length = self.border(end);
        while length > 0 && self.bytes.get(length) != last {
            length = self.border(length);
        }
        let grows = end > 0 && self.bytes.get(length) == last;
        u32::try_from(length + usize::from(grows)).unwrap_or(u32::MAX)
    }

    /// Returns the border of the first `length` bytes.
    fn border(&self, length: usize) -> usize {
        length
            .checked_sub(1)
            .and_then(|last| self.borders.get(last))
            .and_then(|border| usize::try_from(*border).ok())
            .unwrap_or(0)
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

/// Returns the characters of base64 that a value alone decides, at each offset from a group of three bytes.
fn base64_forms(value: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let mut forms = Vec::new();
    for offset in 0..3 {
        let mut bytes = Zeroizing::new(vec![0_u8; offset]);
        bytes.extend_from_slice(value);
        // A character has 6 bits: those that it shares with a byte before or after the value are not the value's.
        let first = (offset * 8).div_ceil(6);
        let end = bytes.len() * 8 / 6;
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let text = Zeroizing::new(engine.encode(&*bytes).into_bytes());
            let decided = text.iter().copied().take(end).skip(first);
            forms.push(Zeroizing::new(decided.collect()));
        }
    }
    forms
}

/// Returns the forms of a value in URLs, as encoders with different opinions write them.
fn url_forms(value: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let mut forms = Vec::new();
    for left in LEFT_BY_ENCODERS {
        for digits in [UPPER, LOWER] {
            forms.push(encoded_but(left, digits, value));
        }
    }
    forms
}

/// Returns a value as the value of a parameter of a query.
pub(crate) fn url_encoded(value: &[u8]) -> Zeroizing<Vec<u8>> {
    encoded_but(b"", UPPER, value)
}

/// Returns a value with `%` and two digits for each byte that is neither unreserved nor in `left`.
fn encoded_but(left: &[u8], digits: &[u8; 16], value: &[u8]) -> Zeroizing<Vec<u8>> {
    let digit = |value: u8| digits.get(usize::from(value)).copied().unwrap_or(b'0');
    let mut text = Zeroizing::new(Vec::with_capacity(value.len() * 3));
    for byte in value {
        let is_unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
        if is_unreserved || left.contains(byte) {
            text.push(*byte);
        } else {
            text.extend([b'%', digit(byte >> 4), digit(byte & 0xf)]);
        }
    }
    text
}
