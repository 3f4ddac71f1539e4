//! Many generations and many forks, in files of this host.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use generations::{DiskId, FileStorage, Pool, Storage as _, Verified};

use crate::simulated::{Random, Simulated};

const BLOCK: usize = 4096;
const BLOCKS: usize = 600;

fn pool(directory: &tempfile::TempDir) -> Pool<FileStorage> {
    Pool::new(FileStorage::open(directory.path()).unwrap())
}

fn new_disk(pool: &Pool<FileStorage>, blocks: usize) -> DiskId {
    let id = pool.new_disk_id().unwrap();
    pool.create_disk(id, bytes(blocks * BLOCK)).unwrap();
    id
}

fn bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap()
}

#[test]
fn two_hundred_cuts_read_as_one_and_merge_to_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let pool = pool(&directory);
    let id = new_disk(&pool, BLOCKS);
    let mut disk = pool.open_disk(id).unwrap();
    let mut random = Random::new(1);
    let mut content = vec![0; BLOCKS * BLOCK];
    let mut snapshots = Vec::new();
    for round in 0..200_usize {
        for _ in 0..20 {
            let at = random.below(BLOCKS) * BLOCK;
            content[at..at + BLOCK].fill((round % 255) as u8 + 1);
            disk.write(&content[at..at + BLOCK], bytes(at)).unwrap();
        }
        let state = disk.cut().unwrap();
        disk.flush().unwrap();
        if round % 50 == 7 {
            snapshots.push((state, content.clone()));
        }
    }
    let check = |disk: &dyn Fn(&mut [u8])| {
        let mut found = vec![0; content.len()];
        disk(&mut found);
        assert!(found == content);
    };
    assert_eq!(disk.generation_count(), 201);
    check(&|buf| disk.read(buf, 0).unwrap());
    drop(disk);
    let mut disk = pool.open_disk(id).unwrap();
    check(&|buf| disk.read(buf, 0).unwrap());
    for (state, content) in &snapshots {
        let mut found = vec![0; content.len()];
        pool.open_snapshot(state)
            .unwrap()
            .read(&mut found, 0)
            .unwrap();
        assert!(found == *content);
    }
    let sealed = pool.sealed_state(id).unwrap().generations;
    let into = pool.merge(&sealed).unwrap();
    disk.replace_merged(&sealed, into).unwrap();
    check(&|buf| disk.read(buf, 0).unwrap());
    disk.flush().unwrap();
    let removed = pool.remove_unlisted(&[]).unwrap();
    assert_eq!(removed.len(), 400, "data and list of each");
    drop(disk);
    let disk = pool.open_disk(id).unwrap();
    assert_eq!(disk.generation_count(), 2);
    check(&|buf| disk.read(buf, 0).unwrap());
    pool.record_digest(into).unwrap();
    assert_eq!(pool.verify(into).unwrap(), Verified::Content);
}

#[test]
fn a_hundred_forks_share_everything_and_write_for_themselves() {
    let directory = tempfile::tempdir().unwrap();
    let pool = pool(&directory);
    let source = new_disk(&pool, BLOCKS);
    let mut disk = pool.open_disk(source).unwrap();
    disk.write(&vec![1; BLOCKS * BLOCK], 0).unwrap();
    let state = disk.cut().unwrap();
    disk.flush().unwrap();
    drop(disk);
    let used = |directory: &tempfile::TempDir| -> u64 {
        let files = fs::read_dir(directory.path()).unwrap();
        files
            .map(|file| file.unwrap().metadata().unwrap().blocks() * 512)
            .sum()
    };
    let before = used(&directory);
    let forks: Vec<DiskId> = (0..100).map(|_| pool.new_disk_id().unwrap()).collect();
    pool.fork(&state, &forks).unwrap();
    assert!(used(&directory) - before <= 100 * 4096, "one record each");
    // The source goes first.
    pool.remove_disk(source).unwrap();
    pool.remove_unlisted(&[]).unwrap();
    for (fork, stamp) in forks.iter().zip(2_u8..) {
        let mut disk = pool.open_disk(*fork).unwrap();
        disk.write(&[stamp; 100], 7 * 4096 + 50).unwrap();
        disk.flush().unwrap();
    }
    for (fork, stamp) in forks.iter().zip(2_u8..) {
        let mut found = vec![0; BLOCKS * BLOCK];
        pool.read_disk(*fork).unwrap().read(&mut found, 0).unwrap();
        let at = 7 * BLOCK + 50;
        assert!(found[at..at + 100].iter().all(|byte| *byte == stamp));
        found[at..at + 100].fill(1);
        assert!(found.iter().all(|byte| *byte == 1));
    }
}

#[test]
fn a_fork_of_a_fork_to_depth_one_hundred() {
    let directory = tempfile::tempdir().unwrap();
    let pool = pool(&directory);
    let mut id = new_disk(&pool, 100);
    for depth in 0..100_usize {
        let mut disk = pool.open_disk(id).unwrap();
        disk.write(&[(depth + 1) as u8; BLOCK], bytes(depth * BLOCK))
            .unwrap();
        let state = disk.cut().unwrap();
        disk.flush().unwrap();
        let fork = pool.new_disk_id().unwrap();
        pool.fork(&state, &[fork]).unwrap();
        drop(disk);
        pool.remove_disk(id).unwrap();
        id = fork;
    }
    pool.remove_unlisted(&[]).unwrap();
    let mut found = vec![0; 100 * BLOCK];
    pool.read_disk(id).unwrap().read(&mut found, 0).unwrap();
    for (block, depth) in found.chunks(BLOCK).zip(1_u8..) {
        assert!(block.iter().all(|byte| *byte == depth));
    }
}

#[test]
fn a_disk_is_open_once_and_its_snapshots_at_any_time() {
    let directory = tempfile::tempdir().unwrap();
    let first = pool(&directory);
    let second = pool(&directory);
    let id = new_disk(&first, 4);
    let mut disk = first.open_disk(id).unwrap();
    disk.write(b"before", 0).unwrap();
    let state = disk.cut().unwrap();
    disk.flush().unwrap();
    disk.write(b"after!", 0).unwrap();
    let expected = format!("disk {id} is in use by another process");
    assert_eq!(second.open_disk(id).unwrap_err().to_string(), expected);
    assert_eq!(second.read_disk(id).unwrap_err().to_string(), expected);
    assert_eq!(
        second.roll_back(id, &state).unwrap_err().to_string(),
        expected
    );
    assert_eq!(second.remove_disk(id).unwrap_err().to_string(), expected);
    let mut found = [0; 6];
    second
        .open_snapshot(&state)
        .unwrap()
        .read(&mut found, 0)
        .unwrap();
    assert_eq!(&found, b"before");
}

#[test]
fn discarded_blocks_give_their_space_back_when_they_are_reclaimed() {
    let directory = tempfile::tempdir().unwrap();
    let pool = pool(&directory);
    let id = new_disk(&pool, BLOCKS);
    let mut disk = pool.open_disk(id).unwrap();
    // An only head gives space back at once.
    disk.cut().unwrap();
    disk.write(&vec![1; BLOCKS * BLOCK], 0).unwrap();
    disk.flush().unwrap();
    let used = || -> u64 {
        let files = fs::read_dir(directory.path()).unwrap();
        files
            .map(|file| file.unwrap().metadata().unwrap().blocks() * 512)
            .sum()
    };
    let before = used();
    disk.discard(0, bytes(400 * BLOCK)).unwrap();
    disk.write(&[2; BLOCK], bytes(10 * BLOCK)).unwrap();
    assert_eq!(
        disk.reclaim(bytes(100 * BLOCK)).unwrap(),
        bytes(100 * BLOCK)
    );
    // The rest is reclaimed after the generation was sealed.
    disk.cut().unwrap();
    disk.flush().unwrap();
    assert_eq!(disk.reclaim(u64::MAX).unwrap(), bytes(299 * BLOCK));
    assert_eq!(disk.reclaim(u64::MAX).unwrap(), 0);
    assert!(before - used() >= bytes(390 * BLOCK), "{before} {}", used());
    let mut found = [0; 2 * BLOCK];
    disk.read(&mut found, bytes(10 * BLOCK)).unwrap();
    assert!(
        found[..BLOCK].iter().all(|byte| *byte == 2)
            && found[BLOCK..].iter().all(|byte| *byte == 0)
    );
}

#[test]
fn a_guest_that_writes_and_discards_one_block_does_not_fill_the_host() {
    let storage = Simulated::default();
    let pool = Pool::new(storage.clone());
    let id = pool.new_disk_id().unwrap();
    pool.create_disk(id, bytes(4 * BLOCK)).unwrap();
    let mut disk = pool.open_disk(id).unwrap();
    disk.cut().unwrap();
    for _ in 0..1500 {
        disk.write(&[1; BLOCK], 0).unwrap();
        disk.flush().unwrap();
        disk.discard(0, bytes(BLOCK)).unwrap();
        disk.flush().unwrap();
    }
    let names = storage.names().unwrap().into_iter();
    let logs = names.filter(|name| name.ends_with(".log"));
    let lengths: Vec<usize> = logs.map(|log| storage.content(&log).len()).collect();
    assert!(
        lengths.iter().all(|length| *length <= 1 << 20),
        "{lengths:?}"
    );
}
