//! Numbers in the spelling of tar fields and of PAX records.

use fstree::Timestamp;

/// Parses a number field: octal digits between spaces and NULs, or base-256 if the first bit is
/// set. `None` if it is invalid.
pub(super) fn field(bytes: &[u8]) -> Option<i64> {
    match bytes.first() {
        Some(first) if first & 0x80 != 0 => base_256(bytes),
        _ => octal(bytes),
    }
}

/// Parses a number field. `None` if it is invalid or negative.
pub(super) fn unsigned_field(bytes: &[u8]) -> Option<u64> {
    field(bytes).and_then(|number| u64::try_from(number).ok())
}

/// Parses a decimal number from 0 to 2^63 - 1 like Go, with or without a sign. `None` if it is
/// invalid.
pub(super) fn decimal(bytes: &[u8]) -> Option<u64> {
    integer(bytes).and_then(|number| u64::try_from(number).ok())
}

/// Parses a decimal number of 64 bits like Go: digits after an optional sign. `None` if it is
/// invalid.
pub(super) fn integer(bytes: &[u8]) -> Option<i64> {
    let (sign, digits) = match bytes {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_i64, |number, &byte| {
        let digit = byte.is_ascii_digit().then(|| i64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(sign * digit)
    })
}

/// Parses seconds with a sign and a fraction, of which nine digits count. `-1.5` is half a second
/// after `-2`. `None` if it is invalid.
pub(super) fn timestamp(bytes: &[u8]) -> Option<Timestamp> {
    let mut parts = bytes.splitn(2, |&byte| byte == b'.');
    let seconds = integer(parts.next()?)?;
    let nanoseconds = match parts.next() {
        Some(fraction) => nanoseconds(fraction)?,
        None => 0,
    };
    if bytes.starts_with(b"-") && nanoseconds > 0 {
        return Some(Timestamp {
            seconds: seconds.checked_sub(1)?,
            nanoseconds: 1_000_000_000 - nanoseconds,
        });
    }
    Some(Timestamp {
        seconds,
        nanoseconds,
    })
}

fn nanoseconds(fraction: &[u8]) -> Option<u32> {
    if !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = fraction.iter().copied().chain(std::iter::repeat(b'0'));
    Some(
        digits
            .take(9)
            .fold(0, |number, digit| number * 10 + u32::from(digit - b'0')),
    )
}

/// Parses octal digits between spaces and NULs, up to a NUL. An empty field is 0.
fn octal(bytes: &[u8]) -> Option<i64> {
    let is_padding = |byte: &u8| matches!(byte, b' ' | 0);
    let Some(start) = bytes.iter().position(|byte| !is_padding(byte)) else {
        return Some(0);
    };
    let end = bytes.iter().rposition(|byte| !is_padding(byte))?;
    let digits = bytes[start..=end].split(|&byte| byte == 0).next()?;
    digits.iter().try_fold(0_i64, |number, &byte| {
        let digit = matches!(byte, b'0'..=b'7').then(|| i64::from(byte - b'0'))?;
        number.checked_mul(8)?.checked_add(digit)
    })
}

fn base_256(bytes: &[u8]) -> Option<i64> {
    let (&first, rest) = bytes.split_first()?;
    let is_negative = first & 0x40 != 0;
    // The first bit marks base-256, the second is the sign.
    let first = if is_negative { first } else { first & 0x3f };
    let start: i64 = if is_negative { -1 } else { 0 };
    std::iter::once(first)
        .chain(rest.iter().copied())
        .try_fold(start, |number, byte| {
            number.checked_mul(256)?.checked_add(i64::from(byte))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let cases: [(&[u8], Option<i64>); 13] = [
            (b"0000755\0", Some(0o755)),
            (b"   755 \0", Some(0o755)),
            (b"\0\0\0\0", Some(0)),
            (b"        ", Some(0)),
            (b"777\x00junk", Some(0o777)),
            (b"7 7", None),
            (b"7 \x007", None),
            (b"8", None),
            (b"-1", None),
            (b"\x80\0\0\x01", Some(1)),
            (b"\xff\xff\xff\xff", Some(-1)),
            (
                b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff",
                Some(i64::MAX),
            ),
            (b"\x80\0\0\0\x80\0\0\0\0\0\0\0", None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(field(bytes), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn timestamps() {
        let at = |seconds, nanoseconds| {
            Some(Timestamp {
                seconds,
                nanoseconds,
            })
        };
        let cases: [(&[u8], Option<Timestamp>); 10] = [
            (b"1", at(1, 0)),
            (b"1.5", at(1, 500_000_000)),
            (b"1.0000000019", at(1, 1)),
            (b"-1.5", at(-2, 500_000_000)),
            (b"-1", at(-1, 0)),
            (b"1.", at(1, 0)),
            (b"+1.5", at(1, 500_000_000)),
            (b"-+1", None),
            (b"1.x", None),
            (b"", None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(timestamp(bytes), expected, "{}", bytes.escape_ascii());
        }
    }
}
