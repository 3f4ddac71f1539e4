/// CRC-32C as ext4 has it: starts from `seed`, and is not inverted at the end.
pub(crate) fn crc32c(seed: u32, bytes: &[u8]) -> u32 {
    !crc32c::crc32c_append(!seed, bytes)
}

/// The seed of a checksum over nothing yet.
pub(crate) const START: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_is_not_inverted() {
        // CRC-32C of "123456789" is e3069283; ext4 keeps its complement.
        assert_eq!(crc32c(START, b"123456789"), !0xe306_9283);
        assert_eq!(crc32c(crc32c(START, b"1234"), b"56789"), !0xe306_9283);
    }
}
