//! The content of a generation: its blocks that are not zeros.

use crate::block::{BLOCK_BYTES, Run, in_memory};
use crate::error::StorageError;
use crate::storage::StorageFile;
use crate::view::Data;

/// Bytes that are read at once.
const PIECE_BYTES: u64 = 1 << 20;
const BLOCK_LENGTH: usize = 4096;

/// Reads the blocks of `runs` that have another byte than zero, and calls `found` with the number of
/// the first block and the bytes of consecutive blocks, in ascending order. Holes cost no reading.
pub(crate) fn pieces<F: StorageFile>(
    data: &Data<F>,
    runs: &[Run],
    mut found: impl FnMut(u64, &[u8]) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let mut buffer = vec![0; in_memory(PIECE_BYTES)];
    for run in runs {
        let mut at = run.first;
        while at < run.end() {
            let next = data.next_data(at * BLOCK_BYTES)?;
            if next >= data.end_bytes {
                break;
            }
            at = at.max(next / BLOCK_BYTES);
            let piece = Run::from_bounds(at, run.end().min(at + PIECE_BYTES / BLOCK_BYTES));
            let Some(bytes) = buffer.get_mut(..in_memory(piece.length_bytes())) else {
                break;
            };
            if bytes.is_empty() {
                break;
            }
            data.read(bytes, piece.offset_bytes())?;
            for_each_run(bytes, |block, bytes| found(at + block, bytes))?;
            at = piece.end();
        }
    }
    Ok(())
}

/// Calls `found` with the number and the bytes of each longest run of blocks that are not zeros.
fn for_each_run(
    bytes: &[u8],
    mut found: impl FnMut(u64, &[u8]) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let mut number = 0;
    let is_zeros = |block: &[u8]| block.iter().all(|byte| *byte == 0);
    let blocks: Vec<&[u8]> = bytes.chunks_exact(BLOCK_LENGTH).collect();
    let mut rest = bytes;
    for same in blocks.chunk_by(|left, right| is_zeros(left) == is_zeros(right)) {
        let (run, after) = rest.split_at(same.len() * BLOCK_LENGTH);
        if !is_zeros(run) {
            found(number, run)?;
        }
        number += crate::block::length_of(run) / BLOCK_BYTES;
        rest = after;
    }
    Ok(())
}

/// Returns the digest of a generation: BLAKE3 of the number of each block that is not zeros, as 4
/// bytes, and its bytes, in ascending order.
pub(crate) fn digest<F: StorageFile>(
    data: &Data<F>,
    runs: &[Run],
) -> Result<[u8; 32], StorageError> {
    let mut hasher = blake3::Hasher::new();
    pieces(data, runs, |first, bytes| {
        for (number, block) in (first..).zip(bytes.chunks_exact(BLOCK_LENGTH)) {
            hasher.update(&crate::block_list::block_number(number).to_le_bytes());
            hasher.update(block);
        }
        Ok(())
    })?;
    Ok(hasher.finalize().into())
}
