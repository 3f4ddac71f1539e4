use fstree::ReadAt;

use crate::error::{OpenError, VerifyError};
use crate::header::{HEADER_BYTES, HEADER_LENGTH, check, sidecar_bytes, value_offset};
use crate::levels::{Levels, Subtree};
use crate::value::{
    BLOCK_BYTES, BLOCK_LENGTH, Content, GROUP_BLOCKS, GROUP_BYTES, VALUE_LENGTH, Value, blocks_of,
    in_memory, length_of, value,
};

/// Bytes of values that are read at once when a sidecar is opened.
const PIECE_LENGTH: usize = 64 * 1024;
/// Most bytes of the values of a group's blocks.
const GROUP_VALUES_LENGTH: usize = 16 * VALUE_LENGTH;

/// The tree of a file: a sidecar that leads to the checksum of the file.
#[derive(Debug)]
pub struct BlockTree<R> {
    sidecar: R,
    length_bytes: u64,
    /// Value of each group, in order.
    groups: Vec<Value>,
}

impl<R: ReadAt> BlockTree<R> {
    /// Opens a sidecar, and proves that it is the one of the file: it is read once.
    ///
    /// # Errors
    /// If the sidecar cannot be read, or is not that of a file with this length and checksum.
    pub fn open(sidecar: R, content: &Content) -> Result<Self, OpenError> {
        let expected_bytes = sidecar_bytes(content.length_bytes);
        let actual_bytes = sidecar.size_bytes().map_err(OpenError::Io)?;
        if actual_bytes != expected_bytes {
            return Err(OpenError::Length {
                actual_bytes,
                expected_bytes,
            });
        }
        let mut found = [0; HEADER_LENGTH];
        let read = sidecar.read_exact_at(&mut found, 0);
        read.map_err(OpenError::Io)?;
        check(&found, content.length_bytes)?;
        let (groups, checksum) = read_levels(&sidecar, expected_bytes)?;
        if checksum != content.blake3 {
            return Err(OpenError::Checksum);
        }
        Ok(Self {
            sidecar,
            length_bytes: content.length_bytes,
            groups,
        })
    }

    /// Returns the length of the file, in bytes.
    pub const fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    /// Checks that the bytes of a range are those of the file. The range consists of whole blocks; only the last block
    /// of the file may be shorter than 4 KiB. Aligned groups of 64 KiB are verified by one value each.
    ///
    /// # Errors
    /// The first block that differs; a range that is not of whole blocks; or a sidecar that has changed since.
    pub fn verify(&self, offset_bytes: u64, bytes: &[u8]) -> Result<(), VerifyError> {
        self.check_range(offset_bytes, bytes)?;
        let (mut at, mut rest) = (offset_bytes, bytes);
        while !rest.is_empty() {
            let group = at / GROUP_BYTES;
            let group_end = (group + 1)
                .saturating_mul(GROUP_BYTES)
                .min(self.length_bytes);
            let part_bytes = length_of(rest).min(group_end - at);
            let (part, after) = rest.split_at(in_memory(part_bytes));
            let is_group = at == group * GROUP_BYTES && at + part_bytes == group_end;
            if !(is_group && self.is_group(group, part)) {
                self.verify_blocks(group, at, part)?;
            }
            at += part_bytes;
            rest = after;
        }
        Ok(())
    }

    fn check_range(&self, offset_bytes: u64, bytes: &[u8]) -> Result<(), VerifyError> {
        let (range_bytes, length_bytes) = (length_of(bytes), self.length_bytes);
        let end = offset_bytes.checked_add(range_bytes);
        let end = end.filter(|end| *end <= length_bytes);
        let is_whole = |end: u64| end.is_multiple_of(BLOCK_BYTES) || end == length_bytes;
        if offset_bytes.is_multiple_of(BLOCK_BYTES) && end.is_some_and(is_whole) {
            return Ok(());
        }
        Err(VerifyError::Range {
            offset_bytes,
            range_bytes,
            length_bytes,
        })
    }

    /// Returns true if the bytes are those of a whole group.
    fn is_group(&self, group: u64, bytes: &[u8]) -> bool {
        let is_whole = self.groups.len() == 1;
        self.groups.get(in_memory(group)) == Some(&value(bytes, group * GROUP_BYTES, is_whole))
    }

    /// Verifies blocks of one group.
    fn verify_blocks(&self, group: u64, at: u64, bytes: &[u8]) -> Result<(), VerifyError> {
        let values = self.values_of(group)?;
        let skipped = at / BLOCK_BYTES - group * GROUP_BLOCKS;
        let (values, _) = values.as_chunks::<VALUE_LENGTH>();
        let values = values.iter().skip(in_memory(skipped));
        let is_whole = self.length_bytes <= BLOCK_BYTES;
        let offsets = (at..).step_by(BLOCK_LENGTH);
        for ((block, expected), offset_bytes) in bytes.chunks(BLOCK_LENGTH).zip(values).zip(offsets)
        {
            if value(block, offset_bytes, is_whole) != *expected {
                return Err(VerifyError::Block { offset_bytes });
            }
        }
        Ok(())
    }

    /// Reads the values of a group's blocks, and proves them by the group's value. Values behind the end are zeros.
    fn values_of(&self, group: u64) -> Result<[u8; GROUP_VALUES_LENGTH], VerifyError> {
        let first = group * GROUP_BLOCKS;
        let count = (blocks_of(self.length_bytes) - first).min(GROUP_BLOCKS);
        let mut values = [0; GROUP_VALUES_LENGTH];
        let (found, _) = values.split_at_mut(in_memory(count) * VALUE_LENGTH);
        let read = self.sidecar.read_exact_at(found, value_offset(first));
        read.map_err(VerifyError::Io)?;
        let mut subtree = Subtree::default();
        for value in found.as_chunks().0 {
            subtree.push(*value);
        }
        let merged = subtree.finish(self.groups.len() == 1);
        if merged.as_ref() != self.groups.get(in_memory(group)) {
            return Err(VerifyError::Sidecar {
                offset_bytes: group * GROUP_BYTES,
            });
        }
        Ok(values)
    }
}

/// Reads all values of a sidecar. Returns those of the groups, and the checksum that they lead to.
fn read_levels<R: ReadAt>(sidecar: &R, end_bytes: u64) -> Result<(Vec<Value>, Value), OpenError> {
    let (mut levels, mut groups) = (Levels::default(), Vec::new());
    let mut buffer = vec![0; PIECE_LENGTH];
    let mut at = HEADER_BYTES;
    while at < end_bytes {
        let piece_bytes = (end_bytes - at).min(length_of(&buffer));
        let (piece, _) = buffer.split_at_mut(in_memory(piece_bytes));
        sidecar.read_exact_at(piece, at).map_err(OpenError::Io)?;
        for value in piece.as_chunks().0 {
            groups.extend(levels.push(*value));
        }
        at += piece_bytes;
    }
    let (last, checksum) = levels.finish().expect("a sidecar has at least one value");
    groups.push(last);
    Ok((groups, checksum))
}
