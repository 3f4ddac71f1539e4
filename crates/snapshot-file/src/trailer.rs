//! The end of an archive: a skippable frame of zstd (RFC 8878, section 3.1.2), which programs that do not
//! know it pass over.

/// The first bytes of a zstd frame: `Magic_Number` of RFC 8878, little-endian.
pub(crate) const FRAME_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// The magic number of a skippable frame, little-endian, and the length of what follows.
const HEAD: [u8; 8] = [0x5E, 0x2A, 0x4D, 0x18, 48, 0, 0, 0];
/// The name of what follows.
const NAME: [u8; 16] = *b"msb snapshot end";
/// Length of the whole trailer, in bytes.
pub(crate) const TRAILER_BYTES: usize = 56;

/// Returns the trailer of an archive with this digest.
pub(crate) fn trailer(digest: [u8; 32]) -> [u8; TRAILER_BYTES] {
    let mut trailer = [0; TRAILER_BYTES];
    trailer[..8].copy_from_slice(&HEAD);
    trailer[8..24].copy_from_slice(&NAME);
    trailer[24..].copy_from_slice(&digest);
    trailer
}
