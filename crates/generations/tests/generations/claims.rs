//! Blocks that a head has as holes of its data file.

use std::fs;
use std::path::Path;

use generations::{Disk, FileStorage, Pool};

const SIZE_BYTES: u64 = 64 << 20;
const AT_BYTES: u64 = 9 << 20;

/// Makes a disk of zeros that has older generations: without them the head has all blocks already.
fn begun(directory: &Path) -> (Pool<FileStorage>, Disk<FileStorage>) {
    let pool = Pool::new(FileStorage::open(directory).unwrap());
    let id = pool.new_disk_id().unwrap();
    pool.create_disk(id, SIZE_BYTES).unwrap();
    let mut disk = pool.open_disk(id).unwrap();
    disk.cut().unwrap();
    disk.zero(0, SIZE_BYTES).unwrap();
    disk.cut().unwrap();
    disk.flush().unwrap();
    (pool, disk)
}

/// Returns the length of the head's log, in bytes.
fn log_bytes(directory: &Path) -> u64 {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let logs = names.filter(|entry| entry.file_name().to_string_lossy().ends_with(".log"));
    logs.map(|log| log.metadata().unwrap().len()).sum()
}

#[test]
fn a_write_to_a_claimed_block_is_no_entry_of_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let (pool, mut disk) = begun(directory.path());
    disk.claim_zeros().unwrap();
    disk.flush().unwrap();
    let claimed_bytes = log_bytes(directory.path());
    disk.write(&[7; 5000], AT_BYTES + 100).unwrap();
    // It has been a hole all the time.
    disk.discard(AT_BYTES * 2, 1 << 20).unwrap();
    disk.write(&[8; 4096], AT_BYTES * 2).unwrap();
    disk.flush().unwrap();
    assert_eq!(log_bytes(directory.path()), claimed_bytes);
    // What was written is given back.
    disk.discard(AT_BYTES * 2, 1 << 20).unwrap();
    disk.flush().unwrap();
    assert!(log_bytes(directory.path()) > claimed_bytes);
    assert!(disk.reclaim(u64::MAX).unwrap() >= 4096);

    let id = disk.id();
    drop(disk);
    let disk = pool.open_disk(id).unwrap();
    let mut bytes = vec![1; 8192];
    disk.read(&mut bytes, AT_BYTES).unwrap();
    assert!(
        bytes[..100]
            .iter()
            .chain(&bytes[5100..])
            .all(|byte| *byte == 0)
    );
    assert!(bytes[100..5100].iter().all(|byte| *byte == 7));
    disk.read(&mut bytes, AT_BYTES * 2).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 0));
}

#[test]
fn a_head_with_bytes_claims_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (pool, mut disk) = begun(directory.path());
    disk.flush().unwrap();
    // No flush keeps it.
    disk.write(&[9; 4096], AT_BYTES).unwrap();
    let id = disk.id();
    drop(disk);
    let mut disk = pool.open_disk(id).unwrap();
    disk.claim_zeros().unwrap();
    let mut bytes = vec![1; 4096];
    disk.read(&mut bytes, AT_BYTES).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 0));
}
