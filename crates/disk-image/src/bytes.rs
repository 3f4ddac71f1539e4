//! Reads of short pieces, and numbers between memory and disk.

use std::io;

use fstree::ReadAt;

/// The unit of partitions and of compressed clusters, in bytes.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// Reads `N` bytes; `None` if they do not all lie within the first `size_bytes`.
pub(crate) fn read_array<const N: usize>(
    source: &(impl ReadAt + ?Sized),
    size_bytes: u64,
    offset_bytes: u64,
) -> io::Result<Option<[u8; N]>> {
    let mut bytes = [0; N];
    let end = offset_bytes.checked_add(length_of(&bytes));
    if end.is_none_or(|end| end > size_bytes) {
        return Ok(None);
    }
    source.read_exact_at(&mut bytes, offset_bytes)?;
    Ok(Some(bytes))
}

/// Reads `length_bytes` bytes, which the caller has bounded.
pub(crate) fn read_vec(
    source: &(impl ReadAt + ?Sized),
    offset_bytes: u64,
    length_bytes: u64,
) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; in_memory(length_bytes)?];
    source.read_exact_at(&mut bytes, offset_bytes)?;
    Ok(bytes)
}

/// Fills `buf` from a file; bytes behind its end are zeros.
pub(crate) fn read_padded(
    file: &(impl ReadAt + ?Sized),
    file_bytes: u64,
    buf: &mut [u8],
    offset_bytes: u64,
) -> io::Result<()> {
    let in_file = file_bytes.saturating_sub(offset_bytes).min(length_of(buf));
    let (stored, beyond) = buf.split_at_mut(in_memory(in_file)?);
    beyond.fill(0);
    file.read_exact_at(stored, offset_bytes)
}

/// Returns the array at `at`; zeros if it ends beyond the bytes.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk());
    found.copied().unwrap_or([0; N])
}

pub(crate) fn u16_le(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array(bytes, at))
}

pub(crate) fn u32_le(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

pub(crate) fn u64_le(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}

/// Returns a length as one of memory.
pub(crate) fn in_memory(length: u64) -> io::Result<usize> {
    usize::try_from(length).map_err(|_| io::ErrorKind::FileTooLarge.into())
}

/// Returns the length of a buffer.
pub(crate) fn length_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
