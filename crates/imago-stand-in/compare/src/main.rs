//! Prints the times of requests to the disks of both crates: `imago-compare DIRECTORY`.
//!
//! The files are in the page cache and nothing is synced, so what differs is the work of the crates.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use generations::{FileStorage, Pool};
use imago_compare::{Disk, imago, ours};

/// The size of a disk, in bytes.
const SIZE_BYTES: u64 = 256 << 20;
/// The rounds in which each disk gets all requests; the median counts.
const ROUNDS: u64 = 9;
/// A page of the guest, which is a buffer of a request, in bytes.
const PAGE_BYTES: usize = 4096;

/// Random requests of one kind.
struct Kind {
    name: &'static str,
    pages: usize,
    count: u64,
    is_write: bool,
}

const KINDS: [Kind; 5] = [
    kind("read 4 KiB", 1, 20_000, false),
    kind("read 128 KiB", 32, 4_000, false),
    kind("read 1,016 KiB", 254, 600, false),
    kind("write 4 KiB", 1, 20_000, true),
    kind("write 128 KiB", 32, 2_000, true),
];

const fn kind(name: &'static str, pages: usize, count: u64, is_write: bool) -> Kind {
    Kind {
        name,
        pages,
        count,
        is_write,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).map(PathBuf::from);
    let directory = directory.ok_or("name a directory for 1 GiB of files")?;
    fs::create_dir_all(&directory)?;
    let path = |name: &str| directory.join(name);
    for name in ["imago.raw", "ours.raw"] {
        fs::write(path(name), vec![5; usize::try_from(SIZE_BYTES)?])?;
    }
    let registered = with_generations(&path("generations"))?;

    println!(
        "{:16}{:>10}{:>10}{:>8}",
        "raw", "imago, us", "msb, us", "speed"
    );
    compare(
        &imago::raw(&path("imago.raw"))?,
        &ours::raw(&path("ours.raw"))?,
        |_| true,
    )?;
    println!(
        "imago raw, and msb's generations: reads of a sealed one, writes to a head that has all blocks"
    );
    let generations = ours::raw(registered.path())?;
    let raw = imago::raw(&path("imago.raw"))?;
    compare(&raw, &generations, |kind| !kind.is_write)?;
    fill(&raw)?;
    fill(&generations)?;
    compare(&raw, &generations, |kind| kind.is_write)?;
    println!(
        "the first writes: imago to a raw file that is a hole, msb's generations to an empty head"
    );
    first_writes(&directory)?;
    fs::remove_dir_all(&directory)?;
    Ok(())
}

/// Registers a disk of one sealed generation that has all blocks, and an empty head.
fn with_generations(directory: &Path) -> Result<stand_in::Registered, Box<dyn Error>> {
    let pool = Pool::new(FileStorage::open(directory)?);
    let id = pool.new_disk_id()?;
    pool.create_disk(id, SIZE_BYTES)?;
    let mut disk = pool.open_disk(id)?;
    disk.write(&vec![5; usize::try_from(SIZE_BYTES)?], 0)?;
    disk.flush()?;
    disk.cut()?;
    disk.flush()?;
    Ok(stand_in::register(Box::new(disk))?)
}

/// Writes all blocks of a disk, in ascending order.
fn fill(disk: &dyn Disk) -> std::io::Result<()> {
    let piece = vec![6; 1 << 20];
    for at_bytes in (0..SIZE_BYTES).step_by(piece.len()) {
        disk.write(&piece, PAGE_BYTES, at_bytes)?;
    }
    Ok(())
}

fn compare(
    imago: &dyn Disk,
    ours: &dyn Disk,
    is_chosen: impl Fn(&Kind) -> bool,
) -> std::io::Result<()> {
    for kind in KINDS.iter().filter(|kind| is_chosen(kind)) {
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..ROUNDS {
            times[0].push(kind.time_us(imago, round)?);
            times[1].push(kind.time_us(ours, round)?);
        }
        kind.print(times);
    }
    Ok(())
}

/// Compares writes to disks that are made anew for each round, so that no block was written before.
fn first_writes(directory: &Path) -> Result<(), Box<dyn Error>> {
    for kind in KINDS.iter().filter(|kind| kind.is_write) {
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..ROUNDS {
            let raw = directory.join("new.raw");
            fs::File::create(&raw)?.set_len(SIZE_BYTES)?;
            times[0].push(kind.time_us(&imago::raw(&raw)?, round)?);
            fs::remove_file(&raw)?;
            let pool = directory.join("new");
            let registered = with_generations(&pool)?;
            times[1].push(kind.time_us(&ours::raw(registered.path())?, round)?);
            fs::remove_dir_all(&pool)?;
        }
        kind.print(times);
    }
    Ok(())
}

impl Kind {
    /// Prints the medians of both crates' times, in microseconds, and their ratio.
    fn print(&self, times: [Vec<f64>; 2]) {
        let [theirs, ours] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        let (name, speed) = (self.name, theirs / ours);
        println!("  {name:14}{theirs:10.2}{ours:10.2}{speed:8.2}");
    }

    /// Returns the mean time of a request, in microseconds.
    fn time_us(&self, disk: &dyn Disk, seed: u64) -> std::io::Result<f64> {
        let mut buffer = vec![7; self.pages * PAGE_BYTES];
        let pages = SIZE_BYTES / 4096 - self.pages as u64;
        let mut random = 0x9e37_79b9_7f4a_7c15 ^ seed;
        let began = Instant::now();
        for _ in 0..self.count {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let at_bytes = random % pages * 4096;
            if self.is_write {
                disk.write(&buffer, PAGE_BYTES, at_bytes)?;
            } else {
                disk.read(&mut buffer, PAGE_BYTES, at_bytes)?;
            }
        }
        Ok(began.elapsed().as_secs_f64() * 1e6 / self.count as f64)
    }
}
