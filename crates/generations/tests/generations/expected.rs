//! A workload on disks whose sectors are stamped, and the values that each sector may have.

use std::error::Error;

use generations::{Disk, DiskId, Pool, RollBackError, State};

use crate::simulated::{Random, Simulated};

const SECTOR: usize = 512;
const BLOCK_SECTORS: usize = 8;
const DISKS_MAX: usize = 3;

type Outcome = Result<(), Box<dyn Error>>;

/// A disk, and the values that its sectors may have after a power cut.
struct Expected {
    id: DiskId,
    disk: Option<Disk<Simulated>>,
    /// The values of each sector since the last flush that succeeded; the last is the present one.
    sectors: Vec<Vec<u64>>,
    /// The sizes in sectors since then.
    sizes: Vec<usize>,
    /// The content that the disk has instead if a rollback under way succeeds.
    rolled_back: Option<Vec<u64>>,
    /// True while the disk is made.
    may_be_absent: bool,
}

impl Expected {
    fn new(id: DiskId, content: Vec<u64>) -> Self {
        Self {
            id,
            disk: None,
            sizes: vec![content.len()],
            sectors: content.into_iter().map(|stamp| vec![stamp]).collect(),
            rolled_back: None,
            may_be_absent: false,
        }
    }

    fn size(&self) -> usize {
        *self.sizes.last().unwrap()
    }

    fn content(&self) -> Vec<u64> {
        let sectors = self.sectors[..self.size()].iter();
        sectors.map(|values| *values.last().unwrap()).collect()
    }

    fn settle(&mut self) {
        let content = self.content();
        self.sizes = vec![content.len()];
        self.sectors = content.into_iter().map(|stamp| vec![stamp]).collect();
    }

    fn set(&mut self, start: usize, end: usize, stamp: u64) {
        for values in &mut self.sectors[start..end] {
            values.push(stamp);
        }
    }

    fn allows(&self, content: &[u64]) -> bool {
        self.rolled_back.as_deref() == Some(content)
            || self.sizes.contains(&content.len())
                && content
                    .iter()
                    .zip(&self.sectors)
                    .all(|(stamp, values)| values.contains(stamp))
    }

    /// Takes over what a disk is found to be, which is not durable yet.
    fn found(&mut self, content: &[u64]) {
        if self.rolled_back.take().as_deref() == Some(content) {
            *self = Self {
                disk: self.disk.take(),
                ..Self::new(self.id, content.to_vec())
            };
            return;
        }
        self.sizes.push(content.len());
        for (values, stamp) in self.sectors.iter_mut().zip(content) {
            values.push(*stamp);
        }
    }
}

/// Disks and snapshots in simulated storage.
pub(crate) struct Workload {
    storage: Simulated,
    pool: Pool<Simulated>,
    disks: Vec<Expected>,
    snapshots: Vec<(State, Vec<u64>)>,
    stamp: u64,
    random: Random,
    /// The highest number of a random step: without steps that make disks or lose some, an error of
    /// a call concerns one disk alone.
    steps: usize,
}

/// All steps.
pub(crate) const ALL_STEPS: usize = 42;

impl Workload {
    pub(crate) fn new(storage: Simulated, seed: u64) -> Self {
        let pool = Pool::new(storage.clone());
        let mut random = Random::new(seed);
        let sectors = [150, 40, 3][random.below(3)];
        let id = pool.new_disk_id().unwrap();
        pool.create_disk(id, bytes(sectors)).unwrap();
        Self {
            storage,
            pool,
            disks: vec![Expected::new(id, vec![0; sectors])],
            snapshots: Vec::new(),
            stamp: 0,
            random,
            steps: ALL_STEPS,
        }
    }

    /// Takes steps until one fails.
    pub(crate) fn run(&mut self, steps: usize) -> Outcome {
        (0..steps).try_for_each(|_| self.step())
    }

    /// Takes one step.
    pub(crate) fn step(&mut self) -> Outcome {
        let step = self.random.below(self.steps);
        let index = self.random.below(self.disks.len());
        match step {
            0..15 => self.write(index),
            15..18 => self.zero(index),
            18..21 => self.discard(index),
            21..26 => self.flush(index),
            26..30 => self.cut(index),
            30 => self.grow(index),
            31 => Ok(self.disk(index)?.reclaim(u64::MAX).map(|_| ())?),
            32 | 33 => self.kill(index),
            34 => self.fork(),
            35 | 36 => self.merge(),
            37 => self.roll_back(index),
            38 => self.digest(),
            39 | 40 => Ok(self.disk(index)?.claim_zeros()?),
            _ => self.remove(),
        }
    }

    fn disk(&mut self, index: usize) -> Result<&mut Disk<Simulated>, Box<dyn Error>> {
        let Expected { id, disk, .. } = &mut self.disks[index];
        if disk.is_none() {
            *disk = Some(self.pool.open_disk(*id)?);
        }
        Ok(disk.as_mut().unwrap())
    }

    /// Returns a range of sectors of a disk.
    fn range(&mut self, index: usize) -> (usize, usize) {
        let size = self.disks[index].size();
        let start = self.random.below(size);
        let longest = [2, 9, 30][self.random.below(3)];
        (start, (start + 1 + self.random.below(longest)).min(size))
    }

    fn write(&mut self, index: usize) -> Outcome {
        let (start, end) = self.range(index);
        self.stamp += 1;
        let stamp = self.stamp;
        self.disk(index)?;
        self.disks[index].set(start, end, stamp);
        let sectors = vec![stamp.to_le_bytes(); (end - start) * SECTOR / 8].concat();
        Ok(self.disk(index)?.write(&sectors, bytes(start))?)
    }

    fn zero(&mut self, index: usize) -> Outcome {
        let (start, end) = self.range(index);
        self.disk(index)?;
        self.disks[index].set(start, end, 0);
        Ok(self.disk(index)?.zero(bytes(start), bytes(end - start))?)
    }

    fn discard(&mut self, index: usize) -> Outcome {
        let (start, end) = self.range(index);
        self.disk(index)?;
        let first = start.next_multiple_of(BLOCK_SECTORS);
        let is_to_end = end == self.disks[index].size();
        let last = if is_to_end {
            end
        } else {
            end / BLOCK_SECTORS * BLOCK_SECTORS
        };
        if first < last {
            self.disks[index].set(first, last, 0);
        }
        Ok(self
            .disk(index)?
            .discard(bytes(start), bytes(end - start))?)
    }

    fn flush(&mut self, index: usize) -> Outcome {
        self.disk(index)?.flush()?;
        self.disks[index].settle();
        Ok(())
    }

    fn cut(&mut self, index: usize) -> Outcome {
        let state = self.disk(index)?.cut()?;
        let content = self.disks[index].content();
        // Often writes come between a cut and the flush.
        for _ in 0..self.random.below(3) {
            self.write(index)?;
        }
        if self.random.below(4) > 0 {
            self.flush(index)?;
            self.snapshots.push((state, content));
        }
        Ok(())
    }

    fn grow(&mut self, index: usize) -> Outcome {
        self.disk(index)?;
        let size = self.disks[index].size() + self.random.below(20);
        self.disk(index)?.grow(bytes(size))?;
        let expected = &mut self.disks[index];
        expected.sizes.push(size);
        let sectors = expected.sectors.len().max(size);
        expected.sectors.resize(sectors, vec![0]);
        Ok(())
    }

    /// Ends the process that has the disk open, without a flush, and begins another.
    fn kill(&mut self, index: usize) -> Outcome {
        self.disks[index].disk = None;
        self.look(index)
    }

    /// Compares a disk with what it may be, and takes over what it is.
    fn look(&mut self, index: usize) -> Outcome {
        let content = read(self.disk(index)?)?;
        let expected = &mut self.disks[index];
        assert!(
            expected.allows(&content),
            "{content:?} {:?}",
            expected.sectors
        );
        expected.found(&content);
        Ok(())
    }

    fn snapshot(&mut self) -> Option<(State, Vec<u64>)> {
        let index = self.random.below(self.snapshots.len());
        self.snapshots.get(index).cloned()
    }

    fn fork(&mut self) -> Outcome {
        let Some((state, content)) = self.snapshot() else {
            return Ok(());
        };
        if self.disks.len() == DISKS_MAX {
            return Ok(());
        }
        let id = self.pool.new_disk_id()?;
        let mut expected = Expected::new(id, content);
        expected.may_be_absent = true;
        self.disks.push(expected);
        self.pool.fork(&state, &[id])?;
        self.disks.last_mut().unwrap().may_be_absent = false;
        Ok(())
    }

    fn merge(&mut self) -> Outcome {
        let Some((state, _)) = self.snapshot() else {
            return Ok(());
        };
        if state.generations.len() < 2 {
            return Ok(());
        }
        let into = self.pool.merge(&state.generations)?;
        for (kept, _) in &mut self.snapshots {
            kept.replace_merged(&state.generations, into);
        }
        for index in 0..self.disks.len() {
            self.flush(index)?;
            if self
                .disk(index)?
                .replace_merged(&state.generations, into)
                .is_ok()
            {
                self.flush(index)?;
            }
        }
        Ok(())
    }

    fn roll_back(&mut self, index: usize) -> Outcome {
        let Some((state, content)) = self.snapshot() else {
            return Ok(());
        };
        let is_open = self.random.below(2) == 0;
        if is_open {
            self.disk(index)?;
        }
        let expected = &mut self.disks[index];
        let mut disk = expected.disk.take();
        expected.rolled_back = Some(content.clone());
        match disk.as_mut().filter(|_| is_open) {
            Some(open) => {
                let rolled_back = open.roll_back(&state);
                if let Err(RollBackError::Flush(_)) = rolled_back {
                    // The disk that knows of the failed sync stays open.
                    (expected.disk, expected.rolled_back) = (disk.take(), None);
                }
                rolled_back?;
            }
            None => {
                drop(disk.take());
                self.pool.roll_back(expected.id, &state)?;
            }
        }
        *expected = Expected::new(expected.id, content);
        expected.disk = disk;
        Ok(())
    }

    fn digest(&mut self) -> Outcome {
        if let Some((state, _)) = self.snapshot() {
            for id in state.generations {
                self.pool.record_digest(id)?;
            }
        }
        Ok(())
    }

    fn remove(&mut self) -> Outcome {
        if self.snapshots.len() > 3 {
            let index = self.random.below(self.snapshots.len());
            self.snapshots.swap_remove(index);
        }
        let states: Vec<State> = self
            .snapshots
            .iter()
            .map(|(state, _)| state.clone())
            .collect();
        self.pool.remove_unlisted(&states)?;
        Ok(())
    }

    /// Tries to flush every disk.
    pub(crate) fn flush_all(&mut self) {
        for index in 0..self.disks.len() {
            // A rollback that failed may have closed the disk with changes that are lost.
            let _ = self.look(index).and_then(|()| self.flush(index));
        }
    }

    /// Compares everything in memory with what it may be, after a step that failed. A disk that cannot be
    /// opened is passed over, and its error returned at the end.
    pub(crate) fn look_at_all(&mut self) -> Outcome {
        let present = self.pool.disks()?;
        let is_present = |disk: &Expected| !disk.may_be_absent || present.contains(&disk.id);
        self.disks.retain(is_present);
        let looks: Vec<_> = (0..self.disks.len())
            .map(|index| self.look(index))
            .collect();
        looks.into_iter().collect()
    }

    /// Cuts the power, and continues with the disks as they are then. All that was promised is there.
    pub(crate) fn cut_power(&self, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let storage = self.storage.after_power_cut(&mut random);
        let pool = Pool::new(storage.clone());
        let mut disks = Vec::new();
        for expected in &self.disks {
            let is_absent = !pool.disks().unwrap().contains(&expected.id);
            if is_absent {
                assert!(expected.may_be_absent, "disk {} is gone", expected.id);
                continue;
            }
            let before = read(&pool.read_disk(expected.id).unwrap()).unwrap();
            assert!(
                expected.allows(&before),
                "{:?}",
                before
                    .iter()
                    .zip(&expected.sectors)
                    .enumerate()
                    .filter(|(_, (stamp, values))| !values.contains(stamp))
                    .collect::<Vec<_>>()
            );
            let disk = pool.open_disk(expected.id).unwrap();
            assert_eq!(read(&disk).unwrap(), before);
            let mut expected = Expected::new(expected.id, before);
            expected.disk = Some(disk);
            disks.push(expected);
        }
        for (state, content) in &self.snapshots {
            let snapshot = pool.open_snapshot(state).unwrap();
            assert_eq!(&read(&snapshot).unwrap(), content);
            for id in &state.generations {
                pool.verify(*id).unwrap();
            }
        }
        Self {
            storage,
            pool,
            disks,
            snapshots: self.snapshots.clone(),
            stamp: self.stamp,
            random,
            steps: self.steps,
        }
    }
}

/// Returns the stamps of a disk's sectors, each of which has one.
fn read(disk: &impl fstree::ReadAt) -> std::io::Result<Vec<u64>> {
    let mut content = vec![0; usize::try_from(disk.size_bytes()?).unwrap()];
    disk.read_exact_at(&mut content, 0)?;
    let sectors = content.chunks_exact(SECTOR).map(|sector| {
        let (stamps, _) = sector.as_chunks::<8>();
        assert!(
            stamps.iter().all(|stamp| *stamp == stamps[0]),
            "a torn sector"
        );
        u64::from_le_bytes(stamps[0])
    });
    Ok(sectors.collect())
}

fn bytes(sectors: usize) -> u64 {
    u64::try_from(sectors * SECTOR).unwrap()
}
