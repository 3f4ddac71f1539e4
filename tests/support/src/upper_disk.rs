//! Writable disks with snapshots, as raw files that other programs read.

use std::path::Path;

use anyhow::{Context as _, Result};
use fs_err as fs;
use generations::{FileStorage, Pool};

/// Bytes that are copied at once.
const PIECE_BYTES: usize = 1 << 20;

/// Writes the disk in the directory `generations` of a stopped sandbox as a sparse raw file.
///
/// # Errors
/// If the disk is open or damaged, or the file cannot be written.
pub fn export(generations: &Path, raw: &Path) -> Result<()> {
    let pool = Pool::new(FileStorage::open(generations)?);
    let id = pool.disks()?.pop().context("the pool has no disk")?;
    let disk = pool.read_disk(id)?;
    let file = fs::File::create(raw)?;
    file.set_len(disk.size_bytes())?;
    let mut piece = vec![0; PIECE_BYTES];
    let mut offset_bytes = 0;
    while offset_bytes < disk.size_bytes() {
        let left_bytes = disk.size_bytes() - offset_bytes;
        piece.truncate(usize::try_from(left_bytes)?.min(PIECE_BYTES));
        disk.read(&mut piece, offset_bytes)?;
        if piece.iter().any(|byte| *byte != 0) {
            std::os::unix::fs::FileExt::write_all_at(file.file(), &piece, offset_bytes)?;
        }
        offset_bytes += u64::try_from(piece.len())?;
    }
    Ok(())
}
