use crate::KernelError;
use crate::error::CorruptKind;

/// `ARM\x64` at byte 56 of an arm64 `Image` (Documentation/arch/arm64/booting.rst).
const MAGIC: &[u8] = b"ARM\x64";
const MAGIC_OFFSET: usize = 56;

/// The size of the header.
const HEADER_BYTES: usize = 64;

/// The offsets of the size in memory and of the flags, both of 64 bits.
const SIZE_OFFSET: usize = 16;
const FLAGS_OFFSET: usize = 24;

/// The flag of a big-endian kernel.
const BIG_ENDIAN: u64 = 1;

/// The opcode of the instruction `b`, in its upper six bits. The others are the distance in words.
const BRANCH: u32 = 0b00_0101;
const DISTANCE_BITS: u32 = 26;

/// Returns true if `bytes` have the magic number of an arm64 `Image`.
pub(crate) fn is_arm64_image(bytes: &[u8]) -> bool {
    bytes
        .get(MAGIC_OFFSET..)
        .is_some_and(|rest| rest.starts_with(MAGIC))
}

/// Checks that `image`, which has the magic number, is one that both VMMs can start.
///
/// One of the first two instructions jumps to the entry, which lies behind most of the kernel: so an
/// image whose end is missing is noticed.
pub(crate) fn check(image: &[u8]) -> Result<(), KernelError> {
    let size_bytes = u64::try_from(image.len()).unwrap_or(u64::MAX);
    let truncated = || CorruptKind::Header { size_bytes };
    let header: &[u8; HEADER_BYTES] = image.first_chunk().ok_or_else(truncated)?;
    let word = |offset: usize| {
        let bytes = header.get(offset..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    };
    if word(SIZE_OFFSET).is_none_or(|size| size == 0) {
        return Err(KernelError::Unsupported {
            reason: "an Image without its size in memory, from before Linux 3.17",
        });
    }
    if word(FLAGS_OFFSET).is_none_or(|flags| flags & BIG_ENDIAN != 0) {
        return Err(KernelError::Unsupported {
            reason: "a big-endian kernel",
        });
    }
    let entry = entry(header).ok_or(CorruptKind::NoJump)?;
    if entry >= size_bytes {
        return Err(CorruptKind::Jump { entry, size_bytes }.into());
    }
    Ok(())
}

/// Returns the offset to which the first jump forwards among the first two instructions leads.
fn entry(header: &[u8; HEADER_BYTES]) -> Option<u64> {
    [0, 4].into_iter().find_map(|offset| {
        let bytes = header.get(offset..)?.first_chunk()?;
        let instruction = u32::from_le_bytes(*bytes);
        let distance = instruction & ((1 << DISTANCE_BITS) - 1);
        let is_forwards = distance >> (DISTANCE_BITS - 1) == 0;
        let is_branch = instruction >> DISTANCE_BITS == BRANCH;
        let start = u64::try_from(offset).ok()?;
        (is_branch && is_forwards).then(|| start + u64::from(distance) * 4)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_magic_at_its_place_only() {
        let mut image = vec![0; 64];
        image[56..60].copy_from_slice(MAGIC);
        assert!(is_arm64_image(&image));
        assert!(!is_arm64_image(&image[1..]));
        assert!(!is_arm64_image(&image[..58]));
        assert!(!is_arm64_image(&[]));
    }

    #[test]
    fn the_header_is_checked() {
        let image = testkit::arm64_image(&[7; 4096]);
        assert!(check(&image).is_ok());
        let changed = |offset: usize, byte: u8| {
            let mut image = image.clone();
            image[offset] = byte;
            check(&image).expect_err("changed").to_string()
        };
        let big_endian = changed(FLAGS_OFFSET, 0x0b);
        assert_eq!(big_endian, "unsupported kernel file: a big-endian kernel");
        assert!(changed(7, 0).contains("truncated or damaged"));
        let mut sizeless = image.clone();
        sizeless[SIZE_OFFSET..SIZE_OFFSET + 8].fill(0);
        let error = check(&sizeless).expect_err("no size").to_string();
        assert!(error.contains("Linux 3.17"), "{error}");
        for length in [60, 64, image.len() / 2] {
            assert!(check(&image[..length]).is_err(), "{length}");
        }
    }
}
