//! The log of a head after appends and syncs that failed, and its length.

use generations::{DiskId, Pool, Storage as _};

use crate::simulated::{Failure, Random, Simulated};

const BLOCKS: u64 = 700;
const BLOCK_BYTES: u64 = 4096;

/// Makes a disk whose blocks are all ones.
fn filled() -> (Simulated, Pool<Simulated>, DiskId) {
    let storage = Simulated::default();
    let pool = Pool::new(storage.clone());
    let id = pool.new_disk_id().unwrap();
    pool.create_disk(id, BLOCKS * BLOCK_BYTES).unwrap();
    let mut disk = pool.open_disk(id).unwrap();
    disk.write(&content(1), 0).unwrap();
    disk.flush().unwrap();
    (storage, pool, id)
}

/// Makes a disk whose blocks are all ones, in a sealed generation: the log of an only head is empty.
fn filled_and_cut() -> (Simulated, Pool<Simulated>, DiskId) {
    let (storage, pool, id) = filled();
    let mut disk = pool.open_disk(id).unwrap();
    disk.cut().unwrap();
    disk.flush().unwrap();
    drop(disk);
    (storage, pool, id)
}

fn content(byte: u8) -> Vec<u8> {
    vec![byte; usize::try_from(BLOCKS * BLOCK_BYTES).unwrap()]
}

fn read(pool: &Pool<Simulated>, id: DiskId) -> Vec<u8> {
    let mut found = content(9);
    pool.open_disk(id).unwrap().read(&mut found, 0).unwrap();
    found
}

/// Returns the number of records in the only log.
fn log_records(storage: &Simulated) -> usize {
    let names = storage.names().unwrap();
    let log = names.iter().find(|name| name.ends_with(".log")).unwrap();
    storage.content(log).len() / 1024
}

#[test]
fn records_of_an_append_that_failed_are_not_applied_later() {
    let (storage, pool, id) = filled_and_cut();
    let mut disk = pool.open_disk(id).unwrap();
    disk.flush().unwrap();
    for block in (0..BLOCKS).step_by(2) {
        disk.discard(block * BLOCK_BYTES, BLOCK_BYTES).unwrap();
    }
    storage.fail_from(storage.calls(), Failure::Full);
    disk.flush().expect_err("the disk of the host is full");
    storage.heal();
    // The changes are one record now; the append that failed left three.
    disk.discard(0, BLOCKS * BLOCK_BYTES).unwrap();
    disk.write(&content(2), 0).unwrap();
    disk.flush().unwrap();
    drop(disk);
    assert!(read(&pool, id) == content(2));
}

#[test]
fn a_record_whose_sync_failed_does_not_damage_the_log() {
    let (storage, pool, id) = filled_and_cut();
    let mut disk = pool.open_disk(id).unwrap();
    disk.flush().unwrap();
    disk.discard(0, BLOCK_BYTES).unwrap();
    storage.fail_from(storage.calls(), Failure::Sync);
    disk.flush().expect_err("a sync fails");
    drop(disk);
    let mut disk = pool.open_disk(id).unwrap();
    disk.discard(5 * BLOCK_BYTES, BLOCK_BYTES).unwrap();
    disk.flush().unwrap();
    drop(disk);
    let mut expected = content(1);
    for block in [0, 5 * 4096] {
        expected[block..block + 4096].fill(0);
    }
    for torn in 0..4 {
        let storage = storage.after_power_cut(&mut Random::new(torn));
        assert!(read(&Pool::new(storage), id) == expected);
    }
}

#[test]
fn a_log_stays_short_and_need_not_be_written_anew() {
    let (storage, pool, id) = filled_and_cut();
    let mut disk = pool.open_disk(id).unwrap();
    disk.flush().unwrap();
    let mut was_rewritten = false;
    for round in 0..2000 {
        let records = log_records(&storage);
        if round % 2 == 0 {
            disk.discard(0, BLOCK_BYTES).unwrap();
        } else {
            disk.write(&[3; 4096], 0).unwrap();
        }
        // A flush of one record writes and syncs the log, after the data if there is some; what
        // needs space later is the new log.
        let calls = if round % 2 == 0 { 2 } else { 3 };
        storage.fail_from(storage.calls() + calls, Failure::Full);
        disk.flush().expect("the changes are durable");
        storage.heal();
        if records > 600 {
            disk.flush().unwrap();
        }
        was_rewritten |= log_records(&storage) < records;
    }
    assert!(!was_rewritten, "the disk of the host was full");
    for _ in 0..600 {
        disk.discard(0, BLOCK_BYTES).unwrap();
        disk.flush().unwrap();
        disk.write(&[3; 4096], 0).unwrap();
        disk.flush().unwrap();
        was_rewritten |= log_records(&storage) < 10;
    }
    assert!(was_rewritten);
    assert!(log_records(&storage) <= 520);
}

#[test]
fn a_log_is_at_most_about_twice_what_is_needed() {
    let (storage, pool, id) = filled_and_cut();
    let mut disk = pool.open_disk(id).unwrap();
    disk.flush().unwrap();
    // Many blocks change alone: at first the log needs most of its records.
    for block in (0..BLOCKS).step_by(2) {
        disk.discard(block * BLOCK_BYTES, BLOCK_BYTES).unwrap();
    }
    for _ in 0..1500 {
        disk.write(&[3; 4096], BLOCK_BYTES).unwrap();
        disk.discard(BLOCK_BYTES, BLOCK_BYTES).unwrap();
        disk.flush().unwrap();
        assert!(log_records(&storage) <= 2 * 14 + 520);
    }
}

#[test]
fn what_a_record_of_a_disk_lists_stays_until_a_newer_one_is_durable() {
    for call in 0..20 {
        for torn in 0..8 {
            let (storage, pool, id) = filled();
            let mut disk = pool.open_disk(id).unwrap();
            let empty = pool.sealed_state(id).unwrap();
            disk.cut().unwrap();
            disk.flush().unwrap();
            drop(disk);
            // The process that rolls back is killed before it has synced the new name.
            let copy = storage.copy();
            let first = copy.calls();
            Pool::new(copy.clone()).roll_back(id, &empty).unwrap();
            storage.fail_from(
                storage.calls() + copy.calls() - first - 1,
                Failure::PowerOff,
            );
            pool.roll_back(id, &empty).expect_err("killed");
            storage.fail_from(storage.calls() + call, Failure::PowerOff);
            let _ = pool.remove_unlisted(&[]);
            let storage = storage.after_power_cut(&mut Random::new(torn));
            let found = read(&Pool::new(storage), id);
            assert!(found == content(0) || found == content(1));
        }
    }
}
