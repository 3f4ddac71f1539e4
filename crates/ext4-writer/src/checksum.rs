/// Returns the CRC-32C of `bytes`, continued from `seed` and not inverted at the end, as in ext4.
pub(crate) fn crc32c(seed: u32, bytes: &[u8]) -> u32 {
    !crc32c::crc32c_append(!seed, bytes)
}

/// Initial seed of a checksum that continues no other.
pub(crate) const START: u32 = u32::MAX;

/// Returns the CRC-16 (ANSI) of `bytes`, which descriptors without `metadata_csum` use.
pub(crate) fn crc16(seed: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(seed, |crc, &byte| {
        (0..8).fold(crc ^ u16::from(byte), |crc, _| match crc & 1 {
            0 => crc >> 1,
            _ => crc >> 1 ^ 0xa001,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_is_not_inverted() {
        // The CRC-32C of "123456789" is e3069283; ext4 stores its complement.
        assert_eq!(crc32c(START, b"123456789"), !0xe306_9283);
        assert_eq!(crc32c(crc32c(START, b"1234"), b"56789"), !0xe306_9283);
    }

    #[test]
    fn the_check_value_of_sixteen_bits() {
        assert_eq!(crc16(0, b"123456789"), 0xbb3d);
    }
}
