//! A disk with many generations beside one with few, and beside a chain of qcow2 files.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result};
use generations::{BLOCK_BYTES, Disk, DiskId, FileStorage, Pool, State};

use super::chain::{self, Chains};
use super::sandbox::random_bytes;
use super::{Arguments, conditions};
use crate::allocation::allocated_bytes;
use crate::report::{Cell, Plot, Row, Table, Target, Unit};

/// Blocks that are changed between two snapshots.
const CHANGED: usize = 25;
/// Requests of a round, of each kind.
const REQUESTS: usize = 2_000;
/// The operations that are judged against those of a flat disk, and the most by which they may take longer.
const JUDGED: [&str; 3] = [OPERATIONS[0], OPERATIONS[2], OPERATIONS[3]];
const RATIO_MAX: f64 = 1.1;
/// The longest time for the disk of one fork of many, in seconds.
const FORK_MAX_S: f64 = 0.002;
/// The most bytes of a snapshot beside its changed blocks, for each of them and in all; the host's
/// filesystem gives out space in blocks of 4 KiB, of which a snapshot's files begin three.
const LIST_BYTES_MAX: u64 = 4 * CHANGED as u64 + 3 * 4096;

/// The measured operations, by their rows.
const OPERATIONS: [&str; 4] = [
    "snapshot: cut and sync",
    "forks, one call",
    "read of 4 KiB at random",
    "write of 4 KiB at random",
];

/// A disk with snapshots.
struct Deep {
    pool: Pool<FileStorage>,
    directory: PathBuf,
    disk: Disk<FileStorage>,
    state: State,
    blocks: u64,
    random: u64,
}

/// Figures of each of [`OPERATIONS`], of the flat disk and of the deep one.
type Figures = [[Vec<f64>; 2]; 4];

/// Measures disks with 1 and with `--depth` snapshots, and the space of each.
pub(super) fn measure(arguments: &Arguments, work: &Path) -> Result<(Vec<Table>, Vec<Target>)> {
    let depths = [1, arguments.depth];
    let mut disks = Vec::new();
    let mut bytes_each = Vec::new();
    for depth in depths {
        let mut disk = Deep::make(&work.join(format!("depth-{depth}")), arguments.mib)?;
        let before = allocated_bytes(&disk.directory)?;
        disk.deepen(depth)?;
        let grown = allocated_bytes(&disk.directory)?.saturating_sub(before);
        bytes_each.push(grown as f64 / f64::from(depth));
        disks.push(disk);
    }
    let figures = figures(arguments, &mut disks)?;
    let chains = chain::measure(arguments, work, CHANGED)?;
    let (rows, mut targets) = judged(arguments, figures, chains.as_ref())?;
    targets.push(judge_space(bytes_each[1]));
    let mut columns = depths.map(|depth| format!("depth {depth}")).to_vec();
    if let Some(chains) = chains {
        columns.extend(depths.map(|depth| format!("qcow2 {depth}")));
        bytes_each.extend(chains.bytes_each);
    }
    let spaces = bytes_each.into_iter().map(|bytes| Some(Cell::once(bytes)));
    let space = vec![Row::new("space of a snapshot", spaces.collect())];
    let table = |title: &str, unit, rows, baseline| Table {
        title: title.to_owned(),
        conditions: conditions(
            arguments,
            &[
                &format!("{CHANGED} blocks at random are changed between two snapshots"),
                "the library without msb and without a guest; reads and writes are mean times of 2,000",
                "qcow2: a chain of qemu-img's files over a raw one, read by qemu-img bench",
            ],
        ),
        unit,
        columns: columns.clone(),
        baseline,
        rows,
        plot: Plot::None,
    };
    let tables = vec![
        table("Many snapshots: time", Unit::Seconds, rows, Some(0)),
        table(
            "Many snapshots: bytes on the host",
            Unit::Bytes,
            space,
            None,
        ),
    ];
    Ok((tables, targets))
}

/// Measures the disks in turn.
fn figures(arguments: &Arguments, disks: &mut [Deep]) -> Result<Figures> {
    let mut figures = Figures::default();
    for round in 0..=arguments.rounds {
        for (column, disk) in disks.iter_mut().enumerate() {
            let found = disk.round(arguments.forks)?;
            for (row, figure) in figures.iter_mut().zip(found) {
                if round > 0 {
                    row[column].push(figure);
                }
            }
        }
    }
    Ok(figures)
}

/// Returns a row and a target for each operation. Chains have reads alone.
fn judged(
    arguments: &Arguments,
    figures: Figures,
    chains: Option<&Chains>,
) -> Result<(Vec<Row>, Vec<Target>)> {
    let (mut rows, mut targets) = (Vec::new(), Vec::new());
    for (name, figures) in OPERATIONS.into_iter().zip(figures) {
        let [flat, deep] = figures.map(Cell::from_rounds);
        targets.push(if JUDGED.contains(&name) {
            judge_ratio(name, arguments.depth, &flat, &deep)?
        } else {
            judge_forks(arguments.forks, &deep)?
        });
        let mut cells = vec![Some(flat), Some(deep)];
        if let Some(chains) = chains {
            let is_read = name == OPERATIONS[2];
            let reads = chains.reads.clone().into_iter();
            cells.extend(reads.map(|cell| is_read.then_some(cell)));
        }
        let name = if name == OPERATIONS[1] {
            format!("{} {name}", arguments.forks)
        } else {
            name.to_owned()
        };
        rows.push(Row::new(name, cells));
    }
    Ok((rows, targets))
}

/// Judges an operation that may not take longer on a deep disk.
fn judge_ratio(name: &str, depth: u32, flat: &Cell, deep: &Cell) -> Result<Target> {
    let ratio = deep.ratio_to(flat).context("no rounds")?.median;
    let words = format!("{name}: {ratio:.2} of depth 1 at depth {depth} (at most {RATIO_MAX})");
    Ok(Target::new(ratio <= RATIO_MAX, words))
}

/// Judges the bytes that a snapshot takes beside its changed blocks.
fn judge_space(bytes: f64) -> Target {
    let list_bytes = bytes - (CHANGED as u64 * BLOCK_BYTES) as f64;
    let words = format!(
        "a snapshot of {CHANGED} changed blocks: {list_bytes:.0} bytes beside them (at most {LIST_BYTES_MAX})"
    );
    Target::new(list_bytes <= LIST_BYTES_MAX as f64, words)
}

/// Judges the time that the disks of forks take, of which one call makes many.
fn judge_forks(forks: u32, times: &Cell) -> Result<Target> {
    let took_s = times.spread().context("no rounds")?.median;
    let most_s = FORK_MAX_S * f64::from(forks);
    let words = format!(
        "the disks of {forks} forks: {} (at most {})",
        Unit::Seconds.shown(took_s),
        Unit::Seconds.shown(most_s)
    );
    Ok(Target::new(took_s <= most_s, words))
}

impl Deep {
    /// Makes a disk that is full of bytes.
    fn make(directory: &Path, mib: u32) -> Result<Self> {
        let pool = Pool::new(FileStorage::open(directory)?);
        let id = pool.new_disk_id()?;
        let bytes = random_bytes(mib);
        pool.create_disk(id, bytes.len() as u64)?;
        let mut disk = pool.open_disk(id)?;
        disk.write(&bytes, 0)?;
        let state = disk.cut()?;
        disk.flush()?;
        Ok(Self {
            pool,
            directory: directory.to_owned(),
            disk,
            state,
            blocks: bytes.len() as u64 / BLOCK_BYTES,
            random: 1,
        })
    }

    fn deepen(&mut self, depth: u32) -> Result<()> {
        for _ in 0..depth {
            self.write(CHANGED)?;
            self.state = self.disk.cut()?;
            self.disk.flush()?;
        }
        Ok(())
    }

    /// Returns a figure for each of [`OPERATIONS`]. The disk has as many snapshots afterwards.
    fn round(&mut self, forks: u32) -> Result<[f64; 4]> {
        self.write(1)?;
        self.disk.flush()?;
        let cut_s = seconds(|| {
            self.disk.cut()?;
            Ok(self.disk.flush()?)
        })?;
        let ids: Vec<DiskId> = (0..forks)
            .map(|_| self.pool.new_disk_id())
            .collect::<Result<_, _>>()?;
        let forks_s = seconds(|| Ok(self.pool.fork(&self.state, &ids)?))?;
        for id in ids {
            self.pool.remove_disk(id)?;
        }
        let reads_s = seconds(|| self.read(REQUESTS))?;
        let writes_s = seconds(|| self.write(REQUESTS))?;
        self.disk.flush()?;
        let mean = |seconds: f64| seconds / REQUESTS as f64;
        Ok([cut_s, forks_s, mean(reads_s), mean(writes_s)])
    }

    fn read(&mut self, count: usize) -> Result<()> {
        let mut bytes = [0; BLOCK_BYTES as usize];
        for _ in 0..count {
            let offset_bytes = self.place();
            self.disk.read(&mut bytes, offset_bytes)?;
        }
        Ok(())
    }

    fn write(&mut self, count: usize) -> Result<()> {
        let bytes = [7; BLOCK_BYTES as usize];
        for _ in 0..count {
            let offset_bytes = self.place();
            self.disk.write(&bytes, offset_bytes)?;
        }
        Ok(())
    }

    /// Returns the offset of a block at random.
    fn place(&mut self) -> u64 {
        // Knuth's multiplier for 64 bits, whose higher bits are the better ones.
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.random >> 33) % self.blocks * BLOCK_BYTES
    }
}

fn seconds(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64())
}
