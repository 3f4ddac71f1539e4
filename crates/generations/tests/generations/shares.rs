//! Pools that share generations: forks in other directories.

use std::path::{Path, PathBuf};

use generations::{Disk, DiskId, FileStorage, Pool, State, Storage};

use crate::simulated::{Failure, Random, Simulated};

const BLOCK: usize = 4096;
const BLOCKS: usize = 24;
const POOLS_MAX: usize = 6;

fn bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap()
}

/// Returns what is read of a disk or of a snapshot.
fn content(read: impl Fn(&mut [u8])) -> Vec<u8> {
    let mut found = vec![0xee; BLOCKS * BLOCK];
    read(&mut found);
    found
}

/// A pool with one disk, and what that and its snapshots should hold.
struct Model {
    directory: PathBuf,
    pool: Pool<FileStorage>,
    id: DiskId,
    disk: Option<Disk<FileStorage>>,
    content: Vec<u8>,
    snapshots: Vec<(State, Vec<u8>)>,
}

impl Model {
    fn at(directory: PathBuf, content: Vec<u8>) -> Self {
        let pool = Pool::new(FileStorage::open(&directory).unwrap());
        let id = pool.new_disk_id().unwrap();
        Self {
            directory,
            pool,
            id,
            disk: None,
            content,
            snapshots: Vec::new(),
        }
    }

    /// Takes a snapshot, and makes a fork of it in another directory.
    fn fork(&mut self, directory: PathBuf) -> Self {
        let (state, content) = self.cut();
        let fork = Self::at(directory, content);
        self.pool.share(&state, &fork.pool).unwrap();
        fork.pool.fork(&state, &[fork.id]).unwrap();
        fork
    }

    fn disk(&mut self) -> &mut Disk<FileStorage> {
        let open = || self.pool.open_disk(self.id).unwrap();
        self.disk.get_or_insert_with(open)
    }

    fn cut(&mut self) -> (State, Vec<u8>) {
        let disk = self.disk();
        let state = disk.cut().unwrap();
        disk.flush().unwrap();
        let snapshot = (state, self.content.clone());
        self.snapshots.push(snapshot.clone());
        snapshot
    }

    fn write(&mut self, block: usize, stamp: u8) {
        let start = block * BLOCK;
        self.content[start..start + BLOCK].fill(stamp);
        let written = [stamp; BLOCK];
        self.disk().write(&written, bytes(start)).unwrap();
    }

    fn remove_unlisted(&self) {
        let kept: Vec<State> = self
            .snapshots
            .iter()
            .map(|(state, _)| state.clone())
            .collect();
        self.pool.remove_unlisted(&kept).unwrap();
    }

    fn check(&mut self) {
        let disk = self.disk();
        let found = content(|buf| disk.read(buf, 0).unwrap());
        assert!(found == self.content);
        for (state, expected) in &self.snapshots {
            let snapshot = self.pool.open_snapshot(state).unwrap();
            assert!(content(|buf| snapshot.read(buf, 0).unwrap()) == *expected);
        }
    }
}

fn run(root: &Path, seed: u64) {
    let mut random = Random::new(seed);
    let first = Model::at(root.join("0"), vec![0; BLOCKS * BLOCK]);
    let size_bytes = bytes(BLOCKS * BLOCK);
    first.pool.create_disk(first.id, size_bytes).unwrap();
    let mut models = vec![first];
    for step in 1..150_u8 {
        let index = random.below(models.len());
        match random.below(20) {
            0..9 => models[index].write(random.below(BLOCKS), step),
            9 => models[index].disk().flush().unwrap(),
            10 => {
                models[index].cut();
            }
            11..14 if models.len() < POOLS_MAX => {
                let fork = models[index].fork(root.join(step.to_string()));
                models.push(fork);
            }
            14 => {
                // A digest replaces the list in one pool alone.
                if let Some((state, _)) = models[index].snapshots.last() {
                    for id in state.generations.clone() {
                        models[index].pool.record_digest(id).unwrap();
                    }
                }
            }
            15 => {
                models[index].disk().reclaim(u64::MAX).unwrap();
            }
            16 if models.len() > 1 => {
                let removed = models.swap_remove(index);
                drop(removed.disk);
                std::fs::remove_dir_all(removed.directory).unwrap();
            }
            _ => {
                let model = &mut models[index];
                if !model.snapshots.is_empty() {
                    let chosen = random.below(model.snapshots.len());
                    model.snapshots.swap_remove(chosen);
                }
                model.remove_unlisted();
            }
        }
        models.iter_mut().for_each(Model::check);
    }
    // The last one frees what all of them shared.
    for mut model in models {
        model.check();
        drop(model.disk);
        std::fs::remove_dir_all(model.directory).unwrap();
    }
    assert_eq!(std::fs::read_dir(root).unwrap().count(), 0);
}

#[test]
fn forks_in_other_directories_are_arrays_of_their_own_in_any_order_of_removal() {
    for seed in 0..12 {
        let root = tempfile::tempdir().unwrap();
        run(root.path(), seed);
    }
}

#[test]
fn a_power_cut_leaves_a_whole_fork_or_none_and_an_unharmed_source() {
    for call in 0..40 {
        for torn in 0..8 {
            let storage = Simulated::default();
            let (source, other) = (Pool::new(storage.clone()), Pool::new(storage.beside("b")));
            let id = source.new_disk_id().unwrap();
            source.create_disk(id, bytes(4 * BLOCK)).unwrap();
            let mut disk = source.open_disk(id).unwrap();
            disk.write(&[1; BLOCK], 0).unwrap();
            disk.cut().unwrap();
            disk.flush().unwrap();
            disk.write(&[2; BLOCK], bytes(BLOCK)).unwrap();
            let state = disk.cut().unwrap();
            disk.flush().unwrap();
            let fork = other.new_disk_id().unwrap();
            let first = storage.calls();
            storage.fail_from(first + call, Failure::PowerOff);
            let shared = source.share(&state, &other);
            let forked = shared.map_err(|_| ()).and_then(|()| {
                let made = other.fork(&state, &[fork]);
                made.map_err(drop)
            });
            let after = storage.after_power_cut(&mut Random::new(torn));
            let (source, other) = (Pool::new(after.clone()), Pool::new(after.beside("b")));
            let expected = [[1; BLOCK], [2; BLOCK]].concat();
            let mut found = vec![0; 2 * BLOCK];
            source
                .open_snapshot(&state)
                .unwrap()
                .read(&mut found, 0)
                .unwrap();
            assert!(found == expected, "the source at call {call}");
            let exists = other.disks().unwrap().contains(&fork);
            assert!(exists || forked.is_err(), "call {call}");
            if exists {
                found.fill(0);
                other.open_disk(fork).unwrap().read(&mut found, 0).unwrap();
                assert!(found == expected, "the fork at call {call}");
                source.remove_disk(id).unwrap();
                source.remove_unlisted(&[]).unwrap();
                found.fill(0);
                other.open_disk(fork).unwrap().read(&mut found, 0).unwrap();
                assert!(found == expected, "the fork without its source");
            }
            other.remove_unlisted(&[]).unwrap();
            assert!(exists || after.beside("b").names().unwrap().is_empty());
        }
    }
}
