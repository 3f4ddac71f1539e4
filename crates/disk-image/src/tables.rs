//! The parts that every format of disk images has: tables in memory, and pieces that a read is divided into.

use std::io;

use fstree::ReadAt;

use crate::bytes::{in_memory, length_of, read_vec};
use crate::{Corrupt, OpenError};

/// The greatest size of a disk, in bytes.
pub const SIZE_MAX_BYTES: u64 = 16 << 40;
/// The longest table that is kept in memory, in bytes: QEMU's limit for the first table of a qcow2.
pub const TABLE_MAX_BYTES: u64 = 32 << 20;

/// Reads a table that is kept in memory, after its length was compared with the file's.
pub(crate) fn read_table(
    file: &impl ReadAt,
    file_bytes: u64,
    structure: &'static str,
    offset_bytes: u64,
    length_bytes: u64,
) -> Result<Vec<u8>, OpenError> {
    let corrupt = |fault: String| Corrupt::new(structure, offset_bytes, fault);
    if length_bytes > TABLE_MAX_BYTES {
        let fault = format!("it has {length_bytes} bytes, the limit is {TABLE_MAX_BYTES}");
        return Err(corrupt(fault).into());
    }
    let end = offset_bytes.checked_add(length_bytes);
    if end.is_none_or(|end| end > file_bytes) {
        let fault = format!("it ends beyond the file, which has {file_bytes} bytes");
        return Err(corrupt(fault).into());
    }
    Ok(read_vec(file, offset_bytes, length_bytes)?)
}

/// Sorts the tables that a first table names, by their offsets, and checks that none is named twice.
pub(crate) fn check_distinct(
    tables: &mut [u64],
    structure: &'static str,
    offset_bytes: u64,
) -> Result<(), Corrupt> {
    tables.sort_unstable();
    let repeated = tables.windows(2).find(|pair| pair.first() == pair.last());
    match repeated.and_then(|pair| pair.first()) {
        Some(table) => {
            let fault = format!("two of its entries name the table at {table}");
            Err(Corrupt::new(structure, offset_bytes, fault))
        }
        None => Ok(()),
    }
}

/// Calls `read` with each part of `buf` that lies in one piece of the disk: the number of the piece, the
/// offset in it, and the part.
pub(crate) fn for_each_piece(
    buf: &mut [u8],
    offset_bytes: u64,
    piece_bytes: u64,
    mut read: impl FnMut(u64, u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut rest = buf;
    let mut at = offset_bytes;
    while !rest.is_empty() {
        let within = at % piece_bytes;
        let length = (piece_bytes - within).min(length_of(rest));
        let (part, after) = rest.split_at_mut(in_memory(length)?);
        read(at / piece_bytes, within, part)?;
        rest = after;
        at += length;
    }
    Ok(())
}

/// Copies a part of a piece that was decompressed.
pub(crate) fn copy_part(piece: &[u8], within: u64, part: &mut [u8]) -> io::Result<()> {
    piece.read_exact_at(part, within)
}
