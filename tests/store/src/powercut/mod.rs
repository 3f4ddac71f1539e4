//! Power cuts, by replaying a recording of a disk's writes.
//!
//! In the lab msb loads, pulls and removes images, creates sandboxes, takes snapshots and goes back to
//! them, stages a directory, and applies a change to it, on a disk of its own, of which QEMU records every write and every flush. For each point of the
//! recording the disk is built as a power cut there may leave it: the writes up to the last flush, and
//! of those after it all, some, or some and one in part. The host's kernel mounts it, replaying the
//! journal (if ext4's own superblock is torn, `e2fsck` has to repair it first, and that is counted),
//! and msb opens the store:
//!
//! - no file with a final name is torn,
//! - the effect of every command that had succeeded is kept,
//! - the disk of each sandbox and of each snapshot needs no repair, and has the files that it must have,
//! - a sandbox reads what was staged for it, and an applied file is whole or missing,
//! - the same commands succeed again, and give exactly the bytes of a store that never lost power; each
//!   sandbox has snapshots, forks and rollbacks, and can be removed.
//!
//! The same workload with msb's syncs left out shows that the test can fail.

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
mod sandboxes;
mod staged;
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

use test_fixtures::command::step;
use test_fixtures::tools;
use test_support::{TestEnv, settings};

/// The recording without syncs gets one point for this many of the other's, and at least some.
const CONTROL_SHARE: u32 = 10;
const CONTROL_POINTS_MIN: u32 = 8;

/// The workload is repeated once for this many points.
const POINTS_PER_ROUND: u32 = 250;

/// The directory, in memory, in which disks are built and judged.
const MEMORY: &str = "/dev/shm";

/// Number of power cuts by default.
const POINTS: u32 = 12;
/// The filesystem that the store lies on: ext4, xfs or btrfs.
const FILESYSTEM: &str = "MSB_TEST_FILESYSTEM";
/// The seed for the positions and the losses of the cuts; the time if unset.
const SEED: &str = "MSB_TEST_SEED";
/// Reuses the last run's recordings instead of making new ones.
const AGAIN: &str = "MSB_TEST_AGAIN";
/// Makes only the cut with this number, and prints it in full.
const ONLY: &str = "MSB_TEST_ONLY";

/// Records, cuts and judges; returns the tally on one line.
pub(crate) fn run(env: TestEnv) -> Result<String> {
    tools::install()?;
    let clock = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let points = settings::count(POINTS)?;
    let run = Run {
        seed: settings::parsed(SEED)?.unwrap_or(clock.as_secs()),
        filesystem: settings::parsed(FILESYSTEM)?.unwrap_or(Filesystem::Ext4),
        only: settings::parsed(ONLY)?,
        again: settings::is_set(AGAIN),
        judge: Judge::prepare(env)?,
    };
    println!("powercut on {}: seed {}", run.filesystem.name(), run.seed);
    let tally = run.replay(Syncs::Kept, points)?;
    if run.only.is_some() {
        return Ok(tally.to_string());
    }
    let control_points = (points / CONTROL_SHARE).max(CONTROL_POINTS_MIN);
    let control = run.replay(Syncs::Dropped, control_points)?;
    println!("powercut, msb with its syncs:    {tally}");
    println!("powercut, msb without its syncs: {control}");
    ensure!(
        tally.faulty_points() == 0,
        "{} points are bad; see one with `cargo xtask powercut --again --filesystem {} \
         --points {} --seed {} --only NUMBER`",
        tally.faulty_points(),
        run.filesystem.name(),
        points,
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
    fn prepare(env: TestEnv) -> Result<Self> {
        let work = PathBuf::from(MEMORY).join(format!("msb-powercut-{}", std::process::id()));
        fs_err::create_dir_all(&work)?;
        Ok(Self {
            images: Images::prepare(&env)?,
            env,
            work,
        })
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        // The files would keep memory in use until the next start of the host.
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
            Recording::make(&workload, &self.judge.env.program)?
        };
        let mut tally = Tally::new(&recording.log.entries, begun.elapsed());
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
        let history = History::parse(&recording.log.entries[..point.cut])?;
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
