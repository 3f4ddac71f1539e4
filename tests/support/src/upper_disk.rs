//! Writable disks of sandboxes, as raw files that other programs read.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use generations::{FileStorage, Pool, Snapshot, State};
use serde_json::Value;

/// Bytes that are copied at once.
const PIECE_BYTES: usize = 1 << 20;

/// Returns the file that has all blocks of a sandbox's disk at their offsets, a raw disk. Until the first cut there
/// is one.
///
/// # Errors
/// If the directory cannot be read, or the disk has more files.
pub fn only_file(sandbox: &Path) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(sandbox.join("generations"))? {
        found.push(entry?.path());
    }
    found.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "data")
    });
    ensure!(found.len() == 1, "the disk has the files {found:?}");
    found.pop().context("the disk has no file")
}

/// Writes the disk in the directory `generations` of a stopped sandbox as a sparse raw file.
///
/// # Errors
/// If the disk is open or damaged, or the file cannot be written.
pub fn export(generations: &Path, raw: &Path) -> Result<()> {
    let pool = Pool::new(FileStorage::open(generations)?);
    let id = pool.disks()?.pop().context("the pool has no disk")?;
    write_raw(&pool.read_disk(id)?, raw)
}

/// Writes the disk as it is in a snapshot of a sandbox as a sparse raw file. The sandbox may run.
///
/// # Errors
/// If the snapshot cannot be read, or the file cannot be written.
pub fn export_snapshot(sandbox: &Path, name: &str, raw: &Path) -> Result<()> {
    let pool = Pool::new(FileStorage::open(&sandbox.join("generations"))?);
    write_raw(&pool.open_snapshot(&snapshot_state(sandbox, name)?)?, raw)
}

/// Returns the size and the generations that a snapshot of a sandbox names.
///
/// # Errors
/// If the record cannot be read.
pub fn snapshot_state(sandbox: &Path, name: &str) -> Result<State> {
    let record = fs::read(sandbox.join(format!("snapshots/{name}.json")))?;
    let record: Value = serde_json::from_slice(&record)?;
    let state = hex::decode(record["state"].as_str().context("no state")?)?;
    Ok(State::from_bytes(&state)?)
}

/// Returns the space that the newest sealed generation of a disk takes on the host, in bytes. The sandbox may run.
///
/// # Errors
/// If the disk cannot be read, or has no sealed generation.
pub fn newest_sealed_bytes(generations: &Path) -> Result<u64> {
    let pool = Pool::new(FileStorage::open(generations)?);
    let id = pool.disks()?.pop().context("the pool has no disk")?;
    let state = pool.sealed_state(id)?;
    let newest = state.generations.last().context("nothing is sealed")?;
    let file = fs::metadata(generations.join(format!("{newest}.data")))?;
    Ok(std::os::unix::fs::MetadataExt::blocks(&file) * 512)
}

fn write_raw(disk: &Snapshot<FileStorage>, raw: &Path) -> Result<()> {
    let file = fs::File::create(raw)?;
    file.set_len(disk.size_bytes())?;
    let mut piece = Vec::new();
    for range in disk.written() {
        let (mut offset_bytes, length_bytes) = range?;
        let end_bytes = offset_bytes + length_bytes;
        while offset_bytes < end_bytes {
            let left_bytes = usize::try_from(end_bytes - offset_bytes)?;
            piece.resize(left_bytes.min(PIECE_BYTES), 0);
            disk.read(&mut piece, offset_bytes)?;
            std::os::unix::fs::FileExt::write_all_at(file.file(), &piece, offset_bytes)?;
            offset_bytes += u64::try_from(piece.len())?;
        }
    }
    Ok(())
}
