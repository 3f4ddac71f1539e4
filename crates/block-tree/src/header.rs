use crate::error::OpenError;
use crate::value::{BLOCK_BYTES, VALUE_LENGTH, blocks_of};

/// The first bytes of a sidecar, with the version of the format.
const MAGIC: [u8; 8] = *b"BLKTREE1";
/// Length of the header, in bytes: that of a value, so that values are aligned.
pub(crate) const HEADER_BYTES: u64 = 32;
pub(crate) const HEADER_LENGTH: usize = 32;
/// Length of a value, in bytes.
const VALUE_BYTES: u64 = 32;

const _: () = assert!(HEADER_LENGTH == VALUE_LENGTH);

/// Returns the length of the sidecar of a file of `length_bytes`, in bytes.
pub const fn sidecar_bytes(length_bytes: u64) -> u64 {
    value_offset(blocks_of(length_bytes))
}

/// Returns the offset of a block's value in the sidecar, in bytes. There are at most 2^52 blocks.
pub(crate) const fn value_offset(block: u64) -> u64 {
    HEADER_BYTES + block * VALUE_BYTES
}

/// Returns the header of the sidecar of a file. The last eight bytes are zeros.
pub(crate) fn header(length_bytes: u64) -> [u8; HEADER_LENGTH] {
    let mut header = [0; HEADER_LENGTH];
    let (fields, _) = header.as_chunks_mut();
    let values = [MAGIC, length_bytes.to_le_bytes(), BLOCK_BYTES.to_le_bytes()];
    for (field, value) in fields.iter_mut().zip(values) {
        *field = value;
    }
    header
}

/// Checks that a header is that of the sidecar of a file of `length_bytes`.
pub(crate) fn check(found: &[u8; HEADER_LENGTH], length_bytes: u64) -> Result<(), OpenError> {
    if !found.starts_with(&MAGIC) {
        return Err(OpenError::Format);
    }
    if *found != header(length_bytes) {
        return Err(OpenError::Header { length_bytes });
    }
    Ok(())
}
