//! A disk is an array of bytes, whatever was cut, forked, merged, rolled back and removed.

use generations::{Disk, DiskId, FileStorage, Pool, State, Storage, Verified};
use proptest::prelude::*;

use crate::simulated::{Random, Simulated};

const BLOCK: usize = 4096;
/// The sizes of new disks in blocks and further sectors. The map has chunks of 4,096 blocks, which
/// a few of the cases cross.
const SIZES: [(usize, usize); 4] = [(70, 0), (3, 3), (0, 1), (33, 7)];
const DISKS_MAX: usize = 4;

struct ModelDisk<S: Storage> {
    id: DiskId,
    disk: Option<Disk<S>>,
    content: Vec<u8>,
}

/// The pool, and what its disks and snapshots should hold.
struct Model<S: Storage + Sync> {
    pool: Pool<S>,
    disks: Vec<ModelDisk<S>>,
    snapshots: Vec<(State, Vec<u8>)>,
    stamp: u8,
}

impl<S: Storage + Sync> Model<S> {
    fn new(storage: S, random: &mut Random) -> Self {
        let mut model = Self {
            pool: Pool::new(storage),
            disks: Vec::new(),
            snapshots: Vec::new(),
            stamp: 0,
        };
        let (blocks, sectors) = SIZES[random.below(SIZES.len())];
        let content = vec![0; blocks * BLOCK + sectors * 512];
        let id = model.pool.new_disk_id().unwrap();
        model.pool.create_disk(id, bytes(content.len())).unwrap();
        let disk = None;
        model.disks.push(ModelDisk { id, disk, content });
        model
    }

    /// Returns a disk, opened.
    fn disk(&mut self, random: &mut Random) -> (&mut Disk<S>, &mut Vec<u8>) {
        let index = random.below(self.disks.len());
        let ModelDisk { id, disk, content } = &mut self.disks[index];
        let disk = disk.get_or_insert_with(|| self.pool.open_disk(*id).unwrap());
        (disk, content)
    }

    fn step(&mut self, random: &mut Random) {
        match random.below(40) {
            0..14 => self.write(random),
            14..18 => self.zero(random, true),
            18..22 => self.zero(random, false),
            22..25 => self.disk(random).0.flush().unwrap(),
            25..29 => self.cut(random),
            29 => self.fork(random),
            30 | 31 => self.merge(random),
            32 => self.roll_back(random),
            33 => self.grow(random),
            34 => self.remove(random),
            35 => {
                let limit_bytes = bytes(random.below(20) * BLOCK);
                self.disk(random).0.reclaim(limit_bytes).unwrap();
            }
            36 => self.digest(random),
            37 => {
                self.pool.remove_unlisted(&self.states()).unwrap();
            }
            _ => self.reopen(random),
        }
    }

    fn write(&mut self, random: &mut Random) {
        self.stamp = self.stamp.wrapping_add(1);
        let stamp = self.stamp;
        let (disk, content) = self.disk(random);
        let (start, end) = range(content.len(), random);
        let written: Vec<u8> = (start..end).map(|at| stamp ^ (at % 251) as u8).collect();
        disk.write(&written, bytes(start)).unwrap();
        content[start..end].copy_from_slice(&written);
    }

    fn zero(&mut self, random: &mut Random, is_discard: bool) {
        let (disk, content) = self.disk(random);
        let (mut start, mut end) = range(content.len(), random);
        if is_discard {
            disk.discard(bytes(start), bytes(end - start)).unwrap();
            start = start.next_multiple_of(BLOCK);
            if end < content.len() {
                end = end / BLOCK * BLOCK;
            }
        } else {
            disk.zero(bytes(start), bytes(end - start)).unwrap();
        }
        if start < end {
            content[start..end].fill(0);
        }
    }

    fn cut(&mut self, random: &mut Random) {
        let is_flushed = random.below(3) > 0;
        let (disk, content) = self.disk(random);
        let state = disk.cut().unwrap();
        let snapshot = (state, content.clone());
        if is_flushed {
            disk.flush().unwrap();
            self.snapshots.push(snapshot);
        }
    }

    fn fork(&mut self, random: &mut Random) {
        if self.snapshots.is_empty() || self.disks.len() == DISKS_MAX {
            return;
        }
        let (state, content) = self.snapshots[random.below(self.snapshots.len())].clone();
        let id = self.pool.new_disk_id().unwrap();
        self.pool.fork(&state, &[id]).unwrap();
        let disk = None;
        self.disks.push(ModelDisk { id, disk, content });
    }

    fn merge(&mut self, random: &mut Random) {
        if self.snapshots.is_empty() {
            return;
        }
        let chosen = random.below(self.snapshots.len());
        let all = self.snapshots[chosen].0.generations.clone();
        if all.len() < 2 {
            return;
        }
        let start = random.below(all.len() - 1);
        let count = 2 + random.below(all.len() - start - 1);
        let merged = &all[start..start + count];
        let into = self.pool.merge(merged).unwrap();
        for (state, _) in &mut self.snapshots {
            state.replace_merged(merged, into);
        }
        for ModelDisk { id, disk, .. } in &mut self.disks {
            let disk = disk.get_or_insert_with(|| self.pool.open_disk(*id).unwrap());
            // A cut that is not flushed has the last of them, too.
            disk.flush().unwrap();
            match disk.replace_merged(merged, into) {
                Ok(()) => disk.flush().unwrap(),
                Err(error) => assert!(error.to_string().contains("not adjacent"), "{error}"),
            }
        }
    }

    fn roll_back(&mut self, random: &mut Random) {
        if self.snapshots.is_empty() {
            return;
        }
        let (state, content) = self.snapshots[random.below(self.snapshots.len())].clone();
        let index = random.below(self.disks.len());
        let disk = &mut self.disks[index];
        match &mut disk.disk {
            Some(open) if random.below(2) == 0 => open.roll_back(&state).unwrap(),
            _ => {
                disk.disk = None;
                self.pool.roll_back(disk.id, &state).unwrap();
            }
        }
        disk.content = content;
    }

    fn grow(&mut self, random: &mut Random) {
        let more = random.below(40) * 512;
        let (disk, content) = self.disk(random);
        content.resize(content.len() + more, 0);
        disk.grow(bytes(content.len())).unwrap();
    }

    fn remove(&mut self, random: &mut Random) {
        if !self.snapshots.is_empty() && random.below(3) > 0 {
            self.snapshots
                .swap_remove(random.below(self.snapshots.len()));
        }
        if self.disks.len() > 1 && random.below(3) == 0 {
            let removed = self.disks.swap_remove(random.below(self.disks.len()));
            drop(removed.disk);
            self.pool.remove_disk(removed.id).unwrap();
        }
        self.pool.remove_unlisted(&self.states()).unwrap();
    }

    fn digest(&mut self, random: &mut Random) {
        if self.snapshots.is_empty() {
            return;
        }
        let chosen = random.below(self.snapshots.len());
        for id in &self.snapshots[chosen].0.generations {
            self.pool.record_digest(*id).unwrap();
            assert_eq!(self.pool.verify(*id).unwrap(), Verified::Content);
        }
    }

    fn reopen(&mut self, random: &mut Random) {
        let index = random.below(self.disks.len());
        let disk = &mut self.disks[index];
        if let Some(mut open) = disk.disk.take() {
            open.flush().unwrap();
            drop(open);
            let read = self.pool.read_disk(disk.id).unwrap();
            assert_eq!(read.size_bytes(), bytes(disk.content.len()));
            assert!(is_equal(&disk.content, |buf, at| read
                .read(buf, at)
                .unwrap()));
        }
    }

    fn states(&self) -> Vec<State> {
        let states = self.snapshots.iter().map(|(state, _)| state.clone());
        states.collect()
    }

    /// Compares everything.
    fn check(&mut self) {
        for ModelDisk { id, disk, content } in &mut self.disks {
            let disk = disk.get_or_insert_with(|| self.pool.open_disk(*id).unwrap());
            assert_eq!(disk.size_bytes(), bytes(content.len()));
            assert!(is_equal(content, |buf, at| disk.read(buf, at).unwrap()));
        }
        for (state, content) in &self.snapshots {
            let again = State::from_bytes(&state.to_bytes()).unwrap();
            let snapshot = self.pool.open_snapshot(&again).unwrap();
            assert_eq!(snapshot.size_bytes(), bytes(content.len()));
            assert!(is_equal(content, |buf, at| snapshot.read(buf, at).unwrap()));
        }
    }
}

/// Returns a range of an array: of blocks, of sectors or of bytes.
fn range(length: usize, random: &mut Random) -> (usize, usize) {
    let unit = [BLOCK, 512, 1][random.below(3)];
    let start = random.below(length / unit + 1) * unit;
    let longest = [3, 12, 60][random.below(3)];
    let count = 1 + random.below(longest);
    (start, (start + count * unit * 3 / 2).min(length))
}

/// Compares in pieces of an odd length.
fn is_equal(content: &[u8], read: impl Fn(&mut [u8], u64)) -> bool {
    let mut at = 0;
    content.chunks(7 * BLOCK + 333).all(|expected| {
        let mut found = vec![0xee; expected.len()];
        read(&mut found, bytes(at));
        at += expected.len();
        found == expected
    })
}

fn bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap()
}

fn run(storage: impl Storage + Sync, seed: u64, steps: usize) {
    let mut random = Random::new(seed);
    let mut model = Model::new(storage, &mut random);
    for step in 0..steps {
        model.step(&mut random);
        if step % 8 == 0 {
            model.check();
        }
    }
    model.check();
}

fn cases() -> u32 {
    std::env::var("MSB_GENERATIONS_CASES").map_or(200, |text| text.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn a_disk_is_an_array_of_bytes(seed in any::<u64>(), steps in 1_usize..120) {
        run(Simulated::default(), seed, steps);
    }
}

#[test]
fn a_disk_is_an_array_of_bytes_in_files_of_this_host() {
    for seed in 0..6 {
        let directory = tempfile::tempdir().unwrap();
        run(FileStorage::open(directory.path()).unwrap(), seed, 60);
    }
}
