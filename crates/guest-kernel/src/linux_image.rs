/// `ARM\x64` at byte 56 of an arm64 `Image` (Documentation/arch/arm64/booting.rst).
const ARM64_MAGIC: &[u8] = b"ARM\x64";
const ARM64_MAGIC_OFFSET: usize = 56;

/// Returns true if `bytes` have the magic number of an arm64 `Image`.
pub(crate) fn is_arm64_image(bytes: &[u8]) -> bool {
    bytes
        .get(ARM64_MAGIC_OFFSET..)
        .is_some_and(|rest| rest.starts_with(ARM64_MAGIC))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_magic_at_its_place_only() {
        let mut image = vec![0; 64];
        image[56..60].copy_from_slice(ARM64_MAGIC);
        assert!(is_arm64_image(&image));
        assert!(!is_arm64_image(&image[1..]));
        assert!(!is_arm64_image(&image[..58]));
        assert!(!is_arm64_image(&[]));
    }
}
