//! Numbers of one to ten bytes: seven bits each, the lowest first, the eighth set if more follow
//! (LEB128).

use std::io::{self, Read};

/// Bytes of the longest number.
const MAX_BYTES: u32 = 10;

/// Appends a number.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        let [low, ..] = number.to_le_bytes();
        bytes.push(low | 0x80);
        number >>= 7;
    }
    let [low, ..] = number.to_le_bytes();
    bytes.push(low);
}

/// Reads a number.
///
/// # Errors
/// `InvalidData` if it does not fit 64 bits, `UnexpectedEof` if it is cut.
pub(super) fn read(source: &mut impl Read) -> io::Result<u64> {
    let mut number = 0;
    for index in 0..MAX_BYTES {
        let mut byte = [0];
        source.read_exact(&mut byte)?;
        let bits = u64::from(byte[0] & 0x7f);
        let shifted = bits << (7 * index);
        if shifted >> (7 * index) != bits {
            break;
        }
        number |= shifted;
        if byte[0] < 0x80 {
            return Ok(number);
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// Returns a signed number as one without sign; small numbers stay small.
pub(super) const fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

/// Returns the number that [`zigzag`] was given.
pub(super) const fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for number in [0, 1, 127, 128, 16_383, 16_384, 1 << 63, u64::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            assert_eq!(read(&mut &bytes[..]).expect("read"), number);
            assert!(read(&mut &bytes[..bytes.len() - 1]).is_err());
            let signed = number.cast_signed();
            assert_eq!(unzigzag(zigzag(signed)), signed);
        }
        assert_eq!(zigzag(-1), 1);
        assert!(read(&mut &[0xff; 11][..]).is_err());
        assert!(read(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2][..]).is_err());
    }
}
