//! A flipped bit, a wrong length and exchanged files are refused by name, and nothing else is harmed.

use generations::{DiskId, OpenError, Pool, State, Verified, VerifyError};

use crate::simulated::{Random, Simulated};

const DISK_BYTES: u64 = 20 * 4096;

/// A disk of two sealed generations and a head, a fork of it, and another disk.
struct Fixture {
    storage: Simulated,
    disk: DiskId,
    fork: DiskId,
    other: DiskId,
    state: State,
}

fn fixture() -> Fixture {
    let storage = Simulated::default();
    let pool = Pool::new(storage.clone());
    let disk = filled(&pool, 1);
    let other = filled(&pool, 100);
    let state = pool.sealed_state(disk).unwrap();
    for id in [
        state.generations.clone(),
        pool.sealed_state(other).unwrap().generations,
    ]
    .concat()
    {
        pool.record_digest(id).unwrap();
    }
    let fork = pool.new_disk_id().unwrap();
    pool.fork(&state, &[fork]).unwrap();
    Fixture {
        storage,
        disk,
        fork,
        other,
        state,
    }
}

/// Makes a disk with three flushes after each of two cuts.
fn filled(pool: &Pool<Simulated>, stamp: u8) -> DiskId {
    let id = pool.new_disk_id().unwrap();
    pool.create_disk(id, DISK_BYTES).unwrap();
    let mut disk = pool.open_disk(id).unwrap();
    for round in 0..9_u8 {
        let at = u64::from(round) * 2 * 4096 % DISK_BYTES;
        disk.write(&[stamp + round; 4096], at).unwrap();
        disk.zero(at + 5000, 7000.min(DISK_BYTES - at - 5000))
            .unwrap();
        disk.flush().unwrap();
        if round % 3 == 2 && round < 8 {
            disk.cut().unwrap();
        }
    }
    id
}

fn read(pool: &Pool<Simulated>, disk: DiskId) -> Result<Vec<u8>, OpenError> {
    let mut content = vec![0; usize::try_from(DISK_BYTES).unwrap()];
    pool.read_disk(disk)?.read(&mut content, 0).unwrap();
    Ok(content)
}

fn files(storage: &Simulated, extension: &str) -> Vec<String> {
    use generations::Storage as _;
    let mut names = storage.names().unwrap();
    names.retain(|name| name.ends_with(extension));
    names
}

#[test]
fn each_flipped_bit_of_metadata_is_refused_by_name_or_loses_nothing() {
    let Fixture {
        storage,
        disk,
        fork,
        other,
        ..
    } = fixture();
    let pool = Pool::new(storage.clone());
    let before: Vec<Vec<u8>> = [disk, fork, other]
        .map(|id| read(&pool, id).unwrap())
        .to_vec();
    let mut refused = 0;
    for name in [".disk", ".blocks", ".log"]
        .iter()
        .flat_map(|extension| files(&storage, extension))
    {
        let length = storage.content(&name).len();
        for byte in 0..length {
            let damaged = storage.copy();
            damaged.edit(&name, |bytes| bytes[byte] ^= 1 << (byte % 8));
            let pool = Pool::new(damaged);
            for (id, content) in [disk, fork, other].into_iter().zip(&before) {
                match read(&pool, id) {
                    Ok(read) => assert!(read == *content, "{name} at {byte}"),
                    Err(error) => {
                        refused += 1;
                        let message = error.to_string();
                        assert!(
                            message.starts_with(&format!("{name} is damaged: ")),
                            "{message}"
                        );
                        assert!(!name.ends_with(".log"), "the twin of a sector is intact");
                        // The disks that do not need the file are unharmed.
                        assert!(name.ends_with(".blocks") || name.contains(&id.to_string()));
                        assert!(
                            name.ends_with(".disk") || id == other || !is_of(&pool, other, &name)
                        );
                    }
                }
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}

/// Returns true if a file belongs to a generation of the disk.
fn is_of(pool: &Pool<Simulated>, disk: DiskId, name: &str) -> bool {
    let generations = pool.sealed_state(disk).unwrap().generations;
    generations.iter().any(|id| name.contains(&id.to_string()))
}

#[test]
fn a_damaged_twin_in_a_log_is_replaced_when_the_disk_is_opened() {
    let Fixture { storage, disk, .. } = fixture();
    let pool = Pool::new(storage.clone());
    let before = read(&pool, disk).unwrap();
    for name in files(&storage, ".log") {
        storage.edit(&name, |bytes| bytes[700] ^= 8);
    }
    drop(pool.open_disk(disk).unwrap());
    for name in files(&storage, ".log") {
        // The first sectors of the records are damaged now, and what was repaired has twins.
        storage.edit(&name, |bytes| bytes[200] ^= 8);
    }
    assert_eq!(read(&pool, disk).unwrap(), before);
}

#[test]
fn a_lost_record_of_a_log_is_refused_if_others_follow() {
    let Fixture { storage, disk, .. } = fixture();
    let pool = Pool::new(storage.clone());
    let log = files(&storage, ".log").into_iter().find(|name| {
        let content = storage.content(name);
        // The head of the disk has three records; that of the fork does not exist yet.
        content.len() >= 3072 && read(&pool, disk).is_ok() && {
            let damaged = storage.copy();
            damaged.edit(name, |bytes| bytes[..1024].fill(0));
            read(&Pool::new(damaged), disk).is_err()
        }
    });
    let log = log.expect("the log of the disk");
    storage.edit(&log, |bytes| bytes[1024..2048].fill(0));
    let error = read(&pool, disk).expect_err("refused").to_string();
    assert_eq!(
        error,
        format!("{log} is damaged: its record at byte 1024 is damaged")
    );
}

#[test]
fn verify_finds_each_flipped_byte_of_the_content() {
    let Fixture { storage, state, .. } = fixture();
    let mut random = Random::new(3);
    for id in &state.generations {
        let name = format!("{id}.data");
        let content = storage.content(&name);
        let stored = (0..content.len()).filter(|byte| content[*byte] != 0);
        for byte in stored.filter(|_| random.below(100) == 0) {
            let damaged = storage.copy();
            damaged.edit(&name, |bytes| bytes[byte] ^= 1);
            let pool = Pool::new(damaged);
            for other in &state.generations {
                let verified = pool.verify(*other);
                if other == id {
                    let error = verified.expect_err("damaged").to_string();
                    assert!(
                        error.starts_with(&format!("{name} is damaged: the digest")),
                        "{error}"
                    );
                } else {
                    assert_eq!(verified.unwrap(), Verified::Content);
                }
            }
        }
    }
}

#[test]
fn a_wrong_length_is_refused_when_a_disk_is_opened() {
    let Fixture {
        storage,
        disk,
        state,
        ..
    } = fixture();
    let name = format!("{}.data", state.generations[0]);
    for length in [0, 4096, 20 * 4096 - 1, 20 * 4096 + 1] {
        let damaged = storage.copy();
        damaged.edit(&name, |bytes| bytes.resize(length, 0));
        let error = read(&Pool::new(damaged), disk)
            .expect_err("refused")
            .to_string();
        let expected = format!("{name} is damaged: it has {length} bytes instead of 81920");
        assert_eq!(error, expected);
    }
}

#[test]
fn exchanged_files_are_refused() {
    let Fixture {
        storage,
        disk,
        other,
        state,
        ..
    } = fixture();
    let [first, second] = state.generations[..] else {
        panic!("two cuts were made");
    };
    for extension in ["blocks", "data"] {
        let damaged = storage.copy();
        damaged.swap(
            &format!("{first}.{extension}"),
            &format!("{second}.{extension}"),
        );
        let error = Pool::new(damaged).verify(first).expect_err("refused");
        let VerifyError::Open(OpenError::Damaged(damage)) = error else {
            panic!("{error}");
        };
        assert_eq!(damage.file, format!("{first}.{extension}"));
    }
    for extension in [".log", ".disk"] {
        let damaged = storage.copy();
        let names = files(&storage, extension);
        let own: Vec<&String> = names
            .iter()
            .filter(|name| {
                extension == ".log"
                    || [disk, other]
                        .iter()
                        .any(|id| name.contains(&id.to_string()))
            })
            .collect();
        damaged.swap(own[0], own[1]);
        for id in [disk, other] {
            let error = read(&Pool::new(damaged.copy()), id)
                .expect_err("refused")
                .to_string();
            assert!(error.contains("is damaged: it belongs to "), "{error}");
        }
    }
}

#[test]
fn a_missing_file_is_named() {
    use generations::Storage as _;
    let Fixture {
        storage,
        disk,
        state,
        ..
    } = fixture();
    for name in [
        format!("{}.data", state.generations[1]),
        format!("{}.blocks", state.generations[0]),
    ] {
        let damaged = storage.copy();
        damaged.remove(&name).unwrap();
        let error = read(&Pool::new(damaged), disk)
            .expect_err("refused")
            .to_string();
        assert_eq!(error, format!("cannot open {name}"));
    }
}
