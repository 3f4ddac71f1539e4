//! The position in a sequence of TLS records.

/// The bytes of a record's header: its type, its version, and its length in two bytes.
const HEADER_BYTES: usize = 5;

/// The position in a sequence of TLS records.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// The number of bytes of a header that have passed.
    header: usize,
    /// The last two of these.
    length: u16,
    /// The number of bytes of a record that have not passed.
    left: usize,
}

impl Records {
    /// Returns the number of bytes up to the end of this header, or of this record.
    pub(crate) fn room(&self) -> usize {
        if self.left > 0 {
            self.left
        } else {
            HEADER_BYTES.saturating_sub(self.header)
        }
    }

    /// Passes the next bytes.
    pub(crate) fn pass(&mut self, mut bytes: &[u8]) {
        while let Some((first, after)) = bytes.split_first() {
            if self.left > 0 {
                let (passed, rest) = bytes.split_at(self.left.min(bytes.len()));
                self.left -= passed.len();
                bytes = rest;
                continue;
            }
            let [_, previous] = self.length.to_be_bytes();
            self.length = u16::from_be_bytes([previous, *first]);
            self.header += 1;
            if self.header == HEADER_BYTES {
                self.header = 0;
                self.left = usize::from(self.length);
            }
            bytes = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two records, of which the second is empty, and the begin of a third.
    const BYTES: &[u8] = b"\x16\x03\x03\x00\x02ab\x17\x03\x03\x00\x00\x17\x03\x03\x01\x02c";

    #[test]
    fn the_room_ends_with_each_header_and_each_record() {
        let mut records = Records::default();
        let (mut rest, mut rooms) = (BYTES, Vec::new());
        while !rest.is_empty() {
            rooms.push(records.room());
            let (passed, after) = rest.split_at(records.room().min(rest.len()));
            records.pass(passed);
            rest = after;
        }
        assert_eq!(rooms, [5, 2, 5, 5, 0x102]);
        assert_eq!(records.room(), 0x101);
    }

    #[test]
    fn the_position_does_not_depend_on_the_pieces() {
        for size in 1..=BYTES.len() {
            let mut records = Records::default();
            for piece in BYTES.chunks(size) {
                records.pass(piece);
            }
            assert_eq!(records.room(), 0x101, "{size}");
        }
    }
}
