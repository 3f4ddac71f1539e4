//! Measures a disk of generations beside a plain file of the same content, in one run.
//!
//! `cargo run --release -p generations --example measure -- DIRECTORY [MIB]`
//!
//! DIRECTORY should lie on the filesystem that is to be measured, with three times the size free.

#![allow(clippy::print_stdout, reason = "it is a program that prints a table")]

use std::error::Error;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use generations::{Disk, DiskId, FileStorage, Pool, State};

const BLOCK_LENGTH: usize = 4096;
const MIB: usize = 1 << 20;
const READS: u64 = 100_000;
const WRITES: u64 = 20_000;
const LARGE_READS: u64 = 500;
const CUTS: usize = 200;
const WRITES_PER_CUT: u64 = 200;
const FLUSHES: u64 = 60;
const FORKS: usize = 100;

/// A disk, whatever it is made of.
trait Target {
    fn read(&mut self, buf: &mut [u8], offset_bytes: u64) -> Result<(), Box<dyn Error>>;
    fn write(&mut self, bytes: &[u8], offset_bytes: u64) -> Result<(), Box<dyn Error>>;
    fn flush(&mut self) -> Result<(), Box<dyn Error>>;
}

impl Target for File {
    fn read(&mut self, buf: &mut [u8], offset_bytes: u64) -> Result<(), Box<dyn Error>> {
        Ok(FileExt::read_exact_at(self, buf, offset_bytes)?)
    }

    fn write(&mut self, bytes: &[u8], offset_bytes: u64) -> Result<(), Box<dyn Error>> {
        Ok(FileExt::write_all_at(self, bytes, offset_bytes)?)
    }

    fn flush(&mut self) -> Result<(), Box<dyn Error>> {
        Ok(self.sync_data()?)
    }
}

impl Target for Disk<FileStorage> {
    fn read(&mut self, buf: &mut [u8], offset_bytes: u64) -> Result<(), Box<dyn Error>> {
        Ok(Disk::read(self, buf, offset_bytes)?)
    }

    fn write(&mut self, bytes: &[u8], offset_bytes: u64) -> Result<(), Box<dyn Error>> {
        Ok(Disk::write(self, bytes, offset_bytes)?)
    }

    fn flush(&mut self) -> Result<(), Box<dyn Error>> {
        Ok(Disk::flush(self)?)
    }
}

/// Pseudo-random offsets, the same ones in each run.
struct Offsets(u64);

impl Offsets {
    fn next(&mut self, size_bytes: u64, unit_bytes: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 20) % (size_bytes / unit_bytes) * unit_bytes
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("name a directory")?;
    let size_mib: u64 = arguments.next().map_or(Ok(1024), |text| text.parse())?;
    let directory = tempfile::tempdir_in(directory)?;
    let size_bytes = size_mib << 20;
    let mut raw = filled(&directory.path().join("raw"), size_bytes)?;
    drop(filled(&directory.path().join("upper"), size_bytes)?);
    let pool = Pool::new(FileStorage::open(&directory.path().join("pool"))?);
    let id = pool.new_disk_id()?;
    pool.adopt(id, &directory.path().join("upper"))?;
    let mut disk = pool.open_disk(id)?;
    disk.flush()?;

    println!("{size_mib} MiB, written in full; page cache warm");
    compare("depth 1", &mut raw, &mut disk, size_bytes)?;
    let state = cuts(&mut disk, size_bytes)?;
    compare("depth 201", &mut raw, &mut disk, size_bytes)?;
    space(directory.path(), size_bytes)?;
    forks(&pool, &state)?;
    drop(disk);
    reopen(&pool, id)?;
    merge(&pool, &state)
}

/// Makes a file without holes.
fn filled(path: &Path, size_bytes: u64) -> Result<File, Box<dyn Error>> {
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)?;
    let piece: Vec<u8> = (1..=251_u8).cycle().take(MIB).collect();
    let mut at = 0;
    while at < size_bytes {
        file.write_all_at(&piece, at)?;
        at += 1 << 20;
    }
    file.sync_all()?;
    Ok(file)
}

fn compare(
    title: &str,
    raw: &mut File,
    disk: &mut Disk<FileStorage>,
    size_bytes: u64,
) -> Result<(), Box<dyn Error>> {
    println!(
        "{title:32} {:>12} {:>12} {:>8}",
        "raw file", "generations", "ratio"
    );
    type Measure = fn(&mut dyn Target, u64) -> Result<Duration, Box<dyn Error>>;
    let measures: [(&str, Measure); 4] = [
        ("4 KiB random read", random_reads),
        ("1 MiB read", large_reads),
        ("4 KiB random write", random_writes),
        ("4 KiB random write and flush", flushed_writes),
    ];
    for (name, measure) in measures {
        // Once to warm up; the better of two runs counts.
        measure(raw, size_bytes)?;
        measure(disk, size_bytes)?;
        let plain = measure(raw, size_bytes)?.min(measure(raw, size_bytes)?);
        let ours = measure(disk, size_bytes)?.min(measure(disk, size_bytes)?);
        let ratio = ours.as_secs_f64() / plain.as_secs_f64();
        println!(
            "  {name:30} {:>12} {:>12} {ratio:>8.2}",
            shown(plain),
            shown(ours)
        );
    }
    Ok(())
}

fn random_reads(target: &mut dyn Target, size_bytes: u64) -> Result<Duration, Box<dyn Error>> {
    repeated(READS, size_bytes, BLOCK_LENGTH, |offset, buf| {
        target.read(buf, offset)
    })
}

fn large_reads(target: &mut dyn Target, size_bytes: u64) -> Result<Duration, Box<dyn Error>> {
    repeated(LARGE_READS, size_bytes, MIB, |offset, buf| {
        target.read(buf, offset)
    })
}

fn random_writes(target: &mut dyn Target, size_bytes: u64) -> Result<Duration, Box<dyn Error>> {
    repeated(WRITES, size_bytes, BLOCK_LENGTH, |offset, buf| {
        target.write(buf, offset)
    })
}

fn flushed_writes(target: &mut dyn Target, size_bytes: u64) -> Result<Duration, Box<dyn Error>> {
    target.flush()?;
    repeated(FLUSHES, size_bytes, BLOCK_LENGTH, |offset, buf| {
        target.write(buf, offset)?;
        target.flush()
    })
}

/// Returns the mean time of calls at pseudo-random offsets.
fn repeated(
    count: u64,
    size_bytes: u64,
    length: usize,
    mut call: impl FnMut(u64, &mut [u8]) -> Result<(), Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    let mut buf = vec![7; length];
    let mut offsets = Offsets(count);
    let unit_bytes = u64::try_from(length)?;
    let start = Instant::now();
    for _ in 0..count {
        call(offsets.next(size_bytes, unit_bytes), &mut buf)?;
    }
    Ok(start.elapsed() / u32::try_from(count)?)
}

fn cuts(disk: &mut Disk<FileStorage>, size_bytes: u64) -> Result<State, Box<dyn Error>> {
    let mut offsets = Offsets(5);
    let mut cuts = Vec::new();
    let mut flushes = Vec::new();
    let mut last = disk.cut()?;
    for _ in 0..CUTS {
        disk.flush()?;
        for _ in 0..WRITES_PER_CUT {
            let offset = offsets.next(size_bytes, 4096);
            Disk::write(disk, &[9; BLOCK_LENGTH], offset)?;
        }
        disk.flush()?;
        let start = Instant::now();
        last = disk.cut()?;
        cuts.push(start.elapsed());
        let start = Instant::now();
        disk.flush()?;
        flushes.push(start.elapsed());
    }
    for (name, mut times) in [("cut", cuts), ("the flush after it", flushes)] {
        times.sort_unstable();
        let (half, most) = (times[times.len() / 2], times[times.len() * 99 / 100]);
        println!("{name}: p50 {}, p99 {}", shown(half), shown(most));
    }
    Ok(last)
}

fn space(directory: &Path, size_bytes: u64) -> Result<(), Box<dyn Error>> {
    let mut lists = 0;
    let mut data = 0;
    for entry in fs::read_dir(directory.join("pool"))? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        match entry
            .path()
            .extension()
            .and_then(|extension| extension.to_str())
        {
            Some("data") => data += metadata.blocks() * 512,
            _ => lists += metadata.len(),
        }
    }
    println!(
        "space: data {:.1} MiB beyond the first, lists, logs and records {:.2} MiB",
        mib(data.saturating_sub(size_bytes)),
        mib(lists)
    );
    Ok(())
}

#[allow(clippy::cast_precision_loss, reason = "a figure to be shown")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1_u32 << 20)
}

fn forks(pool: &Pool<FileStorage>, state: &State) -> Result<(), Box<dyn Error>> {
    let ids = (0..FORKS).map(|_| pool.new_disk_id());
    let ids: Vec<DiskId> = ids.collect::<Result<_, _>>()?;
    let start = Instant::now();
    pool.fork(state, &ids)?;
    println!("{FORKS} forks, durable: {} in all", shown(start.elapsed()));
    let start = Instant::now();
    let one = pool.new_disk_id()?;
    pool.fork(state, &[one])?;
    println!("1 fork, durable: {}", shown(start.elapsed()));
    Ok(())
}

fn reopen(pool: &Pool<FileStorage>, id: DiskId) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::new();
    for _ in 0..21 {
        let start = Instant::now();
        drop(pool.open_disk(id)?);
        times.push(start.elapsed());
    }
    times.sort_unstable();
    println!("open of {} files: p50 {}", CUTS + 2, shown(times[10]));
    Ok(())
}

fn merge(pool: &Pool<FileStorage>, state: &State) -> Result<(), Box<dyn Error>> {
    let newest = state.generations.get(2..).unwrap_or_default();
    let start = Instant::now();
    pool.merge(newest)?;
    println!(
        "merge of {} generations, durable: {}",
        newest.len(),
        shown(start.elapsed())
    );
    Ok(())
}

fn shown(time: Duration) -> String {
    format!("{:.1} us", time.as_secs_f64() * 1e6)
}
