use std::io::Read;

use fstree::Segment;

use super::header::is_gnu;
use super::number;
use super::pax::Pax;
use super::stream::Stream;
use crate::BLOCK_BYTES;
use crate::error::{InvalidHeader, ReadError};
use crate::limits::{Limit, Limits};

/// A sparse file: its size, and the segments that hold data.
#[derive(Debug)]
pub(super) struct SparseMap {
    pub(super) size_bytes: u64,
    pub(super) segments: Vec<Segment>,
}

/// A fault of a map, or of the stream from which it is read.
pub(super) enum SparseError {
    Map(InvalidHeader),
    Stream(ReadError),
}

impl From<ReadError> for SparseError {
    fn from(error: ReadError) -> Self {
        Self::Stream(error)
    }
}

const INVALID: SparseError = SparseError::Map(InvalidHeader::SparseMap);

impl SparseMap {
    /// Checks a map of offset-length pairs against the file's size and its number of stored bytes.
    pub(super) fn new(
        size_bytes: u64,
        stored_bytes: u64,
        numbers: &[u64],
    ) -> Result<Self, InvalidHeader> {
        let mut segments = Vec::with_capacity(numbers.len() / 2);
        let (mut end_bytes, mut total_bytes) = (0_u64, 0_u64);
        for pair in numbers.chunks(2) {
            let &[offset_bytes, length_bytes] = pair else {
                return Err(InvalidHeader::SparseMap);
            };
            let end = offset_bytes.checked_add(length_bytes);
            let end = end.filter(|&end| offset_bytes >= end_bytes && end <= size_bytes);
            end_bytes = end.ok_or(InvalidHeader::SparseMap)?;
            total_bytes += length_bytes;
            if length_bytes > 0 {
                segments.push(Segment {
                    offset_bytes,
                    length_bytes,
                });
            }
        }
        if total_bytes != stored_bytes {
            return Err(InvalidHeader::SparseMap);
        }
        Ok(Self {
            size_bytes,
            segments,
        })
    }

    /// Reads the map of GNU type `S`, which is in the header and in the blocks that follow it.
    pub(super) fn read_gnu<R: Read>(
        block: &[u8; BLOCK_BYTES],
        stored_bytes: u64,
        stream: &mut Stream<R>,
        limits: &Limits,
    ) -> Result<Self, SparseError> {
        // The type `S` of star has another layout.
        let size_bytes = number::unsigned_field(&block[483..495]);
        let size_bytes = size_bytes.filter(|_| is_gnu(block)).ok_or(INVALID)?;
        let mut numbers = Vec::new();
        gnu_pairs(&block[386..482], &mut numbers)?;
        let mut goes_on = block[482] != 0;
        let start_bytes = stream.offset_bytes();
        while goes_on {
            let block = stream.block()?;
            let taken_bytes = stream.offset_bytes() - start_bytes;
            let checked = limits.check(Limit::Record, taken_bytes);
            checked.map_err(|source| stream.beyond(source))?;
            gnu_pairs(&block[..504], &mut numbers)?;
            check_count(numbers.len() / 2, stream, limits)?;
            goes_on = block[504] != 0;
        }
        Self::new(size_bytes, stored_bytes, &numbers).map_err(SparseError::Map)
    }

    /// Reads a map in one of the three PAX formats. The second value is the number of stored bytes
    /// that the map itself took.
    pub(super) fn read_pax<R: Read>(
        pax: &Pax,
        stored_bytes: u64,
        stream: &mut Stream<R>,
        limits: &Limits,
    ) -> Result<(Self, u64), SparseError> {
        let version = Version::from_pax(pax).ok_or(INVALID)?;
        let number = |key| pax.number(key).map_err(SparseError::Map);
        let size_bytes = match number(b"GNU.sparse.size")? {
            None => number(b"GNU.sparse.realsize")?.unwrap_or(stored_bytes),
            Some(size_bytes) => size_bytes,
        };
        let (numbers, map_bytes) = match version {
            Version::InContent => read_map(stored_bytes, stream, limits)?,
            Version::InRecords => {
                let numbers = pax.sparse_numbers().ok_or(INVALID)?;
                let pairs = u64::try_from(numbers.len() / 2).ok();
                if number(b"GNU.sparse.numblocks")?.is_some_and(|count| Some(count) != pairs) {
                    return Err(INVALID);
                }
                (numbers, 0)
            }
        };
        check_count(numbers.len() / 2, stream, limits)?;
        let map = Self::new(size_bytes, stored_bytes - map_bytes, &numbers);
        Ok((map.map_err(SparseError::Map)?, map_bytes))
    }
}

/// Returns true if the records describe a sparse file in a known version.
pub(super) fn is_sparse_in(pax: &Pax) -> bool {
    Version::from_pax(pax).is_some()
}

/// The location of a PAX sparse file's map.
enum Version {
    /// The map of versions 0.0 and 0.1 is in the records.
    InRecords,
    /// The map of version 1.0 is in the content.
    InContent,
}

impl Version {
    /// Returns the version like Go. `None` for an unknown version, so that the file is not sparse.
    fn from_pax(pax: &Pax) -> Option<Self> {
        match (pax.get(b"GNU.sparse.major"), pax.get(b"GNU.sparse.minor")) {
            (Some(b"1"), Some(b"0")) => Some(Self::InContent),
            (Some(b"0"), Some(b"0" | b"1")) => Some(Self::InRecords),
            (None, None) if pax.has_sparse_map() => Some(Self::InRecords),
            _ => None,
        }
    }
}

fn gnu_pairs(bytes: &[u8], numbers: &mut Vec<u64>) -> Result<(), SparseError> {
    for pair in bytes.chunks_exact(24) {
        let (offset, length) = pair.split_at(12);
        if offset[0] == 0 {
            break;
        }
        for field in [offset, length] {
            numbers.push(number::unsigned_field(field).ok_or(INVALID)?);
        }
    }
    Ok(())
}

/// Reads the map of PAX 1.0: decimal lines at the start of the content, padded to a block. The
/// first line is the count.
fn read_map<R: Read>(
    stored_bytes: u64,
    stream: &mut Stream<R>,
    limits: &Limits,
) -> Result<(Vec<u64>, u64), SparseError> {
    let start_bytes = stream.offset_bytes();
    let mut numbers: Vec<u64> = Vec::new();
    let mut line = Vec::new();
    loop {
        let block = stream.block()?;
        let taken_bytes = stream.offset_bytes() - start_bytes;
        if taken_bytes > stored_bytes {
            return Err(INVALID);
        }
        let checked = limits.check(Limit::Record, taken_bytes);
        checked.map_err(|source| stream.beyond(source))?;
        for byte in block {
            if byte != b'\n' {
                line.push(byte);
                continue;
            }
            numbers.push(number::decimal(&line).ok_or(INVALID)?);
            line.clear();
            let wanted = numbers[0].checked_mul(2).ok_or(INVALID)?;
            if u64::try_from(numbers.len() - 1).is_ok_and(|count| count == wanted) {
                numbers.remove(0);
                return Ok((numbers, taken_bytes));
            }
        }
    }
}

fn check_count<R: Read>(
    segments: usize,
    stream: &Stream<R>,
    limits: &Limits,
) -> Result<(), ReadError> {
    let checked = limits.check_length(Limit::Segments, segments);
    checked.map_err(|source| stream.beyond(source))
}
