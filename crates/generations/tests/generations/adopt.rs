//! Existing raw disks.

use std::path::Path;
use std::process::Command;

use generations::{Disk, FileStorage, Pool, Storage};

use crate::simulated::{Failure, Random, Simulated};

#[test]
fn a_raw_disk_becomes_a_disk_at_any_power_cut_or_stays() {
    let content: Vec<u8> = (0..9 * 512 + 512 * 30_u32)
        .map(|at| (at % 251) as u8)
        .collect();
    let raw = Path::new("upper.ext4");
    for call in 0..20 {
        for torn in 0..12 {
            let storage = Simulated::default();
            storage.put("upper.ext4", content.clone());
            let pool = Pool::new(storage.clone());
            let id = pool.new_disk_id().unwrap();
            storage.fail_from(call, Failure::PowerOff);
            let adopted = pool.adopt(id, raw);
            let storage = storage.after_power_cut(&mut Random::new(torn));
            let pool = Pool::new(storage.clone());
            let names = storage.names().unwrap();
            if adopted.is_ok() {
                assert!(pool.disks().unwrap().contains(&id));
            }
            if !pool.disks().unwrap().contains(&id) {
                assert_eq!(storage.content("upper.ext4"), content);
                pool.remove_unlisted(&[]).unwrap();
                assert_eq!(storage.content("upper.ext4"), content);
            }
            if names.contains(&"upper.ext4".to_owned()) {
                pool.adopt(id, raw).unwrap();
            }
            pool.remove_unlisted(&[]).unwrap();
            assert!(!storage.names().unwrap().contains(&"upper.ext4".to_owned()));
            let mut found = vec![0; content.len()];
            let mut disk = pool.open_disk(id).unwrap();
            disk.read(&mut found, 0).unwrap();
            assert!(found == content);
            grows_after_its_last_sector(&mut disk, &content);
        }
    }
}

/// A raw disk may end within a block.
fn grows_after_its_last_sector<S: Storage>(disk: &mut Disk<S>, content: &[u8]) {
    let size_bytes = disk.size_bytes();
    disk.grow(size_bytes + 4096).unwrap();
    disk.write(b"end", size_bytes).unwrap();
    let mut found = vec![1; content.len() + 4096];
    disk.read(&mut found, 0).unwrap();
    assert!(&found[..content.len()] == content && found[content.len()..].starts_with(b"end\0"));
    assert!(found[content.len() + 3..].iter().all(|byte| *byte == 0));
}

#[test]
fn an_odd_length_is_refused_and_the_file_stays() {
    let directory = tempfile::tempdir().unwrap();
    let raw = directory.path().join("raw");
    std::fs::write(&raw, [1; 700]).unwrap();
    let pool = Pool::new(FileStorage::open(&directory.path().join("pool")).unwrap());
    let id = pool.new_disk_id().unwrap();
    let error = pool.adopt(id, &raw).unwrap_err().to_string();
    assert!(
        error.starts_with("700 bytes is not the size of a disk"),
        "{error}"
    );
    assert_eq!(std::fs::read(&raw).unwrap(), [1; 700]);
    assert!(pool.disks().unwrap().is_empty());
}

#[test]
fn another_raw_disk_than_the_adopted_one_stays() {
    let directory = tempfile::tempdir().unwrap();
    let pool = Pool::new(FileStorage::open(&directory.path().join("pool")).unwrap());
    let id = pool.new_disk_id().unwrap();
    let (raw, second) = (
        directory.path().join("raw"),
        directory.path().join("second"),
    );
    std::fs::write(&raw, [1; 1024]).unwrap();
    std::fs::hard_link(&raw, &second).unwrap();
    pool.adopt(id, &raw).unwrap();
    // As after a crash before the old name was removed.
    pool.adopt(id, &second).unwrap();
    assert!(!second.exists());
    pool.adopt(id, &second).unwrap();
    std::fs::write(&raw, [2; 1024]).unwrap();
    let error = pool.adopt(id, &raw).unwrap_err().to_string();
    assert_eq!(error, format!("cannot create {id}.disk"));
    assert_eq!(std::fs::read(&raw).unwrap(), [2; 1024]);
}

#[test]
fn a_record_that_cannot_be_opened_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let pool = Pool::new(FileStorage::open(directory.path()).unwrap());
    let id = pool.new_disk_id().unwrap();
    let record = directory.path().join(format!("{id}.disk"));
    std::os::unix::fs::symlink(&record, &record).unwrap();
    let error = pool.create_disk(id, 4096).unwrap_err().to_string();
    assert_eq!(error, format!("cannot open {id}.disk"));
    assert!(record.is_symlink());
}

/// A filesystem of another program is read through the generations as from its file, and what is
/// changed later leaves it intact.
#[test]
fn oracle_e2fsck_accepts_a_snapshot_of_an_ext4_disk() {
    let directory = tempfile::tempdir().unwrap();
    let raw = directory.path().join("upper.ext4");
    let files = directory.path().join("files");
    std::fs::create_dir(&files).unwrap();
    std::fs::write(files.join("hello"), "hello\n").unwrap();
    let made = Command::new("mke2fs")
        .args(["-q", "-t", "ext4", "-d"])
        .arg(&files)
        .arg(&raw)
        .arg("32M")
        .output();
    let made = made.expect("mke2fs runs (package e2fsprogs)");
    assert!(made.status.success(), "{made:?}");
    let before = std::fs::read(&raw).unwrap();
    let pool = Pool::new(FileStorage::open(&directory.path().join("pool")).unwrap());
    let id = pool.new_disk_id().unwrap();
    pool.adopt(id, &raw).unwrap();
    assert!(!raw.exists());
    let mut disk = pool.open_disk(id).unwrap();
    let state = disk.cut().unwrap();
    let image = ext4_writer::Image::open(&disk).unwrap();
    assert_eq!(image.files().unwrap().read("hello").unwrap(), b"hello\n");
    disk.zero(0, 1 << 20).unwrap();
    disk.flush().unwrap();
    let snapshot = pool.open_snapshot(&state).unwrap();
    let mut found = vec![0; before.len()];
    snapshot.read(&mut found, 0).unwrap();
    assert!(found == before);
    let image = ext4_writer::Image::open(&snapshot).unwrap();
    assert_eq!(image.files().unwrap().read("hello").unwrap(), b"hello\n");
    let exported = directory.path().join("exported");
    std::fs::write(&exported, &found).unwrap();
    let checked = Command::new("e2fsck").arg("-fn").arg(&exported).output();
    let checked = checked.expect("e2fsck runs (package e2fsprogs)");
    assert!(checked.status.success(), "{checked:?}");
}
