//! Power cuts, by replaying a recording of a disk's writes.
//!
//! In the lab msb loads, pulls, creates and removes on a disk of its own, of which QEMU records every
//! write and every flush. For each point of the recording the disk is built as a power cut there may
//! leave it: the writes up to the last flush, and of those after it all, some, or some and one in
//! part. The host's kernel mounts it, replaying the journal (where ext4's own superblock is torn,
//! `e2fsck` has to mend it first, and that is counted), and msb takes it over:
//!
//! - nothing that bears its final name is torn,
//! - what a command had promised by succeeding is kept,
//! - the same again succeeds, and gives the bytes of a store that never lost power, nothing else.
//!
//! That this can fail is shown by the same workload with msb's syncs left out.

mod filesystem;
mod history;
mod images;
mod judge;
mod listing;
mod log;
mod mount;
mod random;
mod record;
mod replay;
mod tally;

use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};

use filesystem::Filesystem;
use history::History;
use images::Images;
use judge::{Disk, Judge, Verdict};
use record::{Recording, Syncs, Workload};
use replay::{Point, Replay};
use tally::Tally;

use crate::run::step;
use crate::{build, place, tools};

/// Points of the recording without syncs, one for this many of the other's; at least some.
const CONTROL_SHARE: u32 = 10;
const CONTROL_POINTS_MIN: u32 = 12;

/// The workload is done once for this many points.
const POINTS_PER_ROUND: u32 = 250;

/// Disks are built and judged in memory.
const MEMORY: &str = "/dev/shm";

/// Arguments of `cargo xtask powercut`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How many power cuts
    #[arg(long, default_value_t = 1000)]
    points: u32,
    /// What the store lies on
    #[arg(long, value_enum, default_value = "ext4")]
    filesystem: Filesystem,
    /// Where the cuts are and what they take follows from this and the recording [default: the time]
    #[arg(long)]
    seed: Option<u64>,
    /// Use the last run's recordings instead of making new ones
    #[arg(long)]
    again: bool,
    /// An msb to use instead of building one
    #[arg(long, value_name = "PATH")]
    msb: Option<PathBuf>,
    /// Only the cut of this number, which is printed in full
    #[arg(long, value_name = "NUMBER")]
    only: Option<u32>,
}

/// A few cuts, for every test run.
pub(crate) fn quick() -> Result<String> {
    const POINTS: u32 = 30;
    run(&Arguments {
        points: POINTS,
        filesystem: Filesystem::Ext4,
        seed: None,
        again: false,
        msb: None,
        only: None,
    })
}

/// Records, cuts, judges; gives the tally on one line.
pub(crate) fn run(arguments: &Arguments) -> Result<String> {
    tools::install()?;
    let clock = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let run = Run {
        seed: arguments.seed.unwrap_or(clock.as_secs()),
        filesystem: arguments.filesystem,
        only: arguments.only,
        again: arguments.again,
        judge: Judge::prepare(arguments.msb.clone())?,
    };
    println!("powercut on {}: seed {}", run.filesystem.name(), run.seed);
    let tally = run.replay(Syncs::Kept, arguments.points)?;
    if run.only.is_some() {
        return Ok(tally.to_string());
    }
    let control_points = (arguments.points / CONTROL_SHARE).max(CONTROL_POINTS_MIN);
    let control = run.replay(Syncs::Dropped, control_points)?;
    println!("powercut, msb with its syncs:    {tally}");
    println!("powercut, msb without its syncs: {control}");
    ensure!(
        tally.faulty_points() == 0,
        "{} points are bad; see one with `cargo xtask powercut --again --filesystem {} \
         --points {} --seed {} --only NUMBER`",
        tally.faulty_points(),
        run.filesystem.name(),
        arguments.points,
        run.seed
    );
    ensure!(
        control.faulty_points() > 0,
        "without syncs everything was whole: this proves nothing"
    );
    Ok(format!(
        "{tally}; {} of {control_points} bad without syncs",
        control.faulty_points()
    ))
}

struct Run {
    seed: u64,
    filesystem: Filesystem,
    only: Option<u32>,
    again: bool,
    judge: Judge,
}

impl Judge {
    fn prepare(msb: Option<PathBuf>) -> Result<Self> {
        let program = msb.map_or_else(build::msb, Ok)?;
        let work = PathBuf::from(MEMORY).join(format!("msb-powercut-{}", std::process::id()));
        fs_err::create_dir_all(&work)?;
        Ok(Self {
            images: Images::prepare(&program, &place::scratch("powercut")?)?,
            program,
            work,
        })
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        // Memory that stays taken until the next start.
        let _ = fs_err::remove_dir_all(&self.work);
    }
}

impl Run {
    fn replay(&self, syncs: Syncs, points: u32) -> Result<Tally> {
        let begun = Instant::now();
        let workload = Workload {
            filesystem: self.filesystem,
            syncs,
            rounds: (points / POINTS_PER_ROUND).max(1),
        };
        let recording = if self.again {
            Recording::kept(&workload)?
        } else {
            step("record the disk's writes in the lab");
            Recording::make(&workload, &self.judge.program)?
        };
        let mut tally = Tally::of(&recording.log.entries, begun.elapsed());
        let entries = &recording.log.entries;
        let mut chosen: Vec<Point> = (0..points)
            .filter(|number| self.only.is_none_or(|only| only == *number))
            .map(|number| Point::choose(entries, self.seed, number))
            .collect();
        chosen.sort_by_key(|point| point.settled(entries));
        let mut replay = Replay::begin(&recording.log, &recording.base, &self.judge.work)?;
        let begun = Instant::now();
        for point in &chosen {
            let verdict = self.cut(&recording, &mut replay, point)?;
            for (fault, seen) in verdict.faults.iter().filter(|_| syncs == Syncs::Kept) {
                println!("FAILED  point {}: {}: {seen}", point.number, fault.name());
            }
            tally.count(point, &verdict);
        }
        tally.replayed_in(begun.elapsed());
        Ok(tally)
    }

    fn cut(&self, recording: &Recording, replay: &mut Replay, point: &Point) -> Result<Verdict> {
        let image = self.judge.work.join("cut.img");
        let torn_at_bytes = replay.build(point, &image)?;
        let history = History::of(&recording.log.entries[..point.cut])?;
        if self.only.is_some() {
            println!("{point:?}\n{history:?}");
        }
        let disk = Disk {
            image: &image,
            filesystem: self.filesystem,
            torn_at_bytes,
        };
        Ok(self.judge.judge(&disk, &history))
    }
}
