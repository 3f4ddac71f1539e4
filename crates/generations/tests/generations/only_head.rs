//! Disks that were never cut: the head is the only generation, and costs what a raw file costs.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use generations::{Disk, DiskId, FileStorage, Pool, State, Storage as _};
use proptest::prelude::*;

use crate::simulated::{Failure, Random, Simulated};

const BLOCK: usize = 4096;
const BLOCKS: usize = 40;

fn bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap()
}

fn begun(storage: &Simulated) -> (Pool<Simulated>, Disk<Simulated>) {
    let pool = Pool::new(storage.clone());
    let id = pool.new_disk_id().unwrap();
    let disk = pool.begin_disk(id, bytes(BLOCKS * BLOCK)).unwrap();
    (pool, disk)
}

fn read(pool: &Pool<Simulated>, id: DiskId) -> Vec<u8> {
    let disk = pool.read_disk(id).unwrap();
    let mut content = vec![1; usize::try_from(disk.size_bytes()).unwrap()];
    disk.read(&mut content, 0).unwrap();
    content
}

fn log_bytes(storage: &Simulated) -> usize {
    let names = storage.names().unwrap().into_iter();
    let logs = names.filter(|name| name.ends_with(".log"));
    logs.map(|name| storage.content(&name).len()).sum()
}

/// A change of a disk: its kind, the first sector, and the number of sectors.
type Change = (u8, usize, usize);

fn change(disk: &mut Disk<Simulated>, content: &mut Vec<u8>, (kind, first, count): Change) {
    let start = (first * 512).min(content.len() - 512);
    let end = (start + count * 512).min(content.len());
    let (offset, length) = (bytes(start), bytes(end - start));
    match kind {
        0 => {
            disk.write(&vec![first as u8 | 1; end - start], offset)
                .unwrap();
            content[start..end].fill(first as u8 | 1);
        }
        1 => {
            disk.zero(offset, length).unwrap();
            content[start..end].fill(0);
        }
        2 => {
            disk.discard(offset, length).unwrap();
            let first_whole = start.next_multiple_of(BLOCK);
            let end_whole = if end < content.len() {
                end / BLOCK * BLOCK
            } else {
                end
            };
            if first_whole < end_whole {
                content[first_whole..end_whole].fill(0);
            }
        }
        _ => {
            content.resize(content.len() + count * 512, 0);
            disk.grow(bytes(content.len())).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn a_flush_before_the_first_cut_is_one_sync_and_writes_no_log(
        rounds in prop::collection::vec(prop::collection::vec((0_u8..3, 0..BLOCKS * 8, 1_usize..60), 1..6), 1..8),
        torn in any::<u64>(),
    ) {
        let storage = Simulated::default();
        let (pool, mut disk) = begun(&storage);
        let id = disk.id();
        let mut content = vec![0; BLOCKS * BLOCK];
        disk.flush().unwrap();
        for changes in rounds {
            for one in changes {
                change(&mut disk, &mut content, one);
            }
            let before = storage.syncs();
            disk.flush().unwrap();
            prop_assert!(storage.syncs() - before <= 1, "{} syncs", storage.syncs() - before);
            prop_assert_eq!(log_bytes(&storage), 0);
            let after = storage.after_power_cut(&mut Random::new(torn));
            prop_assert!(read(&Pool::new(after), id) == content);
        }
        drop(disk);
        prop_assert!(read(&pool, id) == content);
    }

    #[test]
    fn what_was_never_cut_is_an_array_of_bytes_whenever_it_is_opened_again(
        changes in prop::collection::vec((0_u8..5, 0..BLOCKS * 9, 1_usize..60), 1..40),
    ) {
        let storage = Simulated::default();
        let (pool, disk) = begun(&storage);
        let id = disk.id();
        let mut content = vec![0; BLOCKS * BLOCK];
        let mut open = Some(disk);
        for (kind, first, count) in changes {
            let disk = open.get_or_insert_with(|| pool.open_disk(id).unwrap());
            if kind < 4 {
                change(disk, &mut content, (kind, first, count));
            } else {
                disk.flush().unwrap();
                open = None;
                prop_assert!(read(&pool, id) == content);
            }
        }
        let disk = open.get_or_insert_with(|| pool.open_disk(id).unwrap());
        let state = disk.cut().unwrap();
        disk.write(&[9; 512], 0).unwrap();
        disk.flush().unwrap();
        let snapshot = pool.open_snapshot(&state).unwrap();
        let mut found = vec![1; content.len()];
        snapshot.read(&mut found, 0).unwrap();
        prop_assert!(found == content);
    }
}

#[test]
fn the_first_flush_of_a_new_disk_is_three_syncs_and_keeps_the_disk() {
    let storage = Simulated::default();
    let (_, mut disk) = begun(&storage);
    disk.write(&[7; BLOCK], 4096).unwrap();
    let before = storage.syncs();
    disk.flush().unwrap();
    // Data, record, and the names.
    assert_eq!(storage.syncs() - before, 3);
    assert!(disk.flushes_one_file());
    let id = disk.id();
    for torn in 0..20 {
        let after = storage.after_power_cut(&mut Random::new(torn));
        assert_eq!(read(&Pool::new(after), id)[BLOCK..2 * BLOCK], [7; BLOCK]);
    }
}

#[test]
fn a_new_disk_is_absent_or_damaged_or_whole_until_its_first_flush_and_whole_afterwards() {
    for call in 0..20 {
        for torn in 0..8 {
            let storage = Simulated::default();
            let pool = Pool::new(storage.clone());
            let id = pool.new_disk_id().unwrap();
            storage.fail_from(call, Failure::PowerOff);
            let made = pool.begin_disk(id, bytes(BLOCKS * BLOCK));
            let flushed = made
                .is_ok_and(|mut disk| disk.write(&[7; BLOCK], 0).is_ok() && disk.flush().is_ok());
            let after = storage.after_power_cut(&mut Random::new(torn));
            if flushed {
                assert_eq!(read(&Pool::new(after), id)[..BLOCK], [7; BLOCK]);
            }
        }
    }
}

#[test]
fn a_new_disk_that_was_closed_without_a_sync_is_found() {
    let storage = Simulated::default();
    let (pool, mut disk) = begun(&storage);
    let id = disk.id();
    assert!(pool.disks().unwrap().is_empty());
    disk.write(&[7; BLOCK], 0).unwrap();
    let before = storage.syncs();
    disk.close_unsynced().unwrap();
    assert_eq!(storage.syncs(), before);
    assert_eq!(pool.disks().unwrap(), [id]);
    assert_eq!(read(&pool, id)[..BLOCK], [7; BLOCK]);
    let error = pool.begin_disk(id, 4096).unwrap_err().to_string();
    assert_eq!(error, format!("cannot create {id}.disk"));
}

/// Makes a disk with one content, and a state that nothing lists with another.
fn rewritten(storage: &Simulated) -> (Pool<Simulated>, DiskId, State) {
    let (pool, mut disk) = begun(storage);
    disk.write(&[1; BLOCKS * BLOCK], 0).unwrap();
    disk.cut().unwrap();
    disk.flush().unwrap();
    let written = pool.new_disk_id().unwrap();
    let mut other = pool.begin_disk(written, bytes(BLOCKS * BLOCK)).unwrap();
    other.write(&[2; BLOCK], 0).unwrap();
    let state = other.cut().unwrap();
    other.flush().unwrap();
    drop(other);
    pool.remove_disk(written).unwrap();
    (pool, disk.id(), state)
}

#[test]
fn a_disk_that_begins_again_with_a_generation_is_as_a_new_one() {
    let storage = Simulated::default();
    let (pool, id, state) = rewritten(&storage);
    pool.roll_back_unshared(id, &state).unwrap();
    pool.remove_unlisted(&[]).unwrap();
    let mut disk = pool.open_disk(id).unwrap();
    assert_eq!(
        (disk.generation_count(), disk.head_id()),
        (1, state.generations[0])
    );
    disk.flush().unwrap();
    disk.write(&[3; BLOCK], 5 * 4096).unwrap();
    let before = storage.syncs();
    disk.flush().unwrap();
    assert_eq!(storage.syncs() - before, 1);
    drop(disk);
    let content = read(&pool, id);
    assert_eq!(content[..BLOCK], [2; BLOCK]);
    assert_eq!(content[5 * BLOCK..6 * BLOCK], [3; BLOCK]);
    assert_eq!(content[BLOCK..5 * BLOCK], [0; 4 * BLOCK]);
    let again = pool.open_disk(id).unwrap().cut().unwrap();
    assert_eq!(again, state);
}

#[test]
fn a_disk_that_begins_again_has_either_content_after_a_power_cut() {
    for call in 0..12 {
        for torn in 0..8 {
            let storage = Simulated::default();
            let (pool, id, state) = rewritten(&storage);
            storage.fail_from(storage.calls() + call, Failure::PowerOff);
            let is_set = pool.roll_back_unshared(id, &state).is_ok();
            let after = storage.after_power_cut(&mut Random::new(torn));
            let pool = Pool::new(after);
            let is_new = read(&pool, id)[..BLOCK] == [2; BLOCK];
            assert!(is_new || !is_set && read(&pool, id) == [1; BLOCKS * BLOCK]);
            let mut disk = pool.open_disk(id).unwrap();
            disk.write(&[4; BLOCK], 0).unwrap();
            disk.flush().unwrap();
            pool.remove_unlisted(&[]).unwrap();
            drop(disk);
            assert_eq!(read(&pool, id)[..BLOCK], [4; BLOCK]);
        }
    }
}

#[test]
fn bytes_of_a_growth_that_was_not_flushed_do_not_come_back() {
    let end_bytes = bytes(BLOCKS * BLOCK);
    for torn in 0..20 {
        let storage = Simulated::default();
        let (pool, mut disk) = begun(&storage);
        let id = disk.id();
        disk.flush().unwrap();
        disk.grow(end_bytes + 3 * 4096).unwrap();
        disk.write(&[7; 3 * BLOCK], end_bytes).unwrap();
        // The process is killed.
        drop(disk);
        let mut disk = pool.open_disk(id).unwrap();
        assert_eq!(disk.size_bytes(), end_bytes);
        disk.grow(end_bytes + 2 * 4096).unwrap();
        disk.flush().unwrap();
        drop(disk);
        let after = storage.after_power_cut(&mut Random::new(torn));
        for pool in [pool, Pool::new(after)] {
            let content = read(&pool, id);
            assert_eq!(content.len(), (BLOCKS + 2) * BLOCK);
            assert!(content.iter().all(|byte| *byte == 0));
        }
    }
}

#[test]
fn a_disk_that_was_never_cut_takes_the_space_of_a_raw_file() {
    const MIB: u64 = 1 << 20;
    let directory = tempfile::tempdir().unwrap();
    let pool_directory = directory.path().join("pool");
    let pool = Pool::new(FileStorage::open(&pool_directory).unwrap());
    let id = pool.new_disk_id().unwrap();
    let mut disk = pool.begin_disk(id, 1 << 30).unwrap();
    let raw = fs::File::create(directory.path().join("raw")).unwrap();
    raw.set_len(1 << 30).unwrap();
    let data = vec![7; 1 << 20];
    for at_bytes in [0, 100 * MIB, 101 * MIB, 1023 * MIB] {
        disk.write(&data, at_bytes).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&raw, &data, at_bytes).unwrap();
    }
    disk.flush().unwrap();
    raw.sync_all().unwrap();
    let taken = || {
        let files = fs::read_dir(&pool_directory).unwrap();
        let blocks = files.map(|file| file.unwrap().metadata().unwrap().blocks());
        blocks.sum::<u64>() * 512
    };
    let raw_bytes = raw.metadata().unwrap().blocks() * 512;
    assert!(taken() <= raw_bytes + (64 << 10), "{} {raw_bytes}", taken());
    // It is given back at once.
    disk.discard(0, 1 << 30).unwrap();
    disk.flush().unwrap();
    assert!(taken() <= 64 << 10, "{}", taken());
}
