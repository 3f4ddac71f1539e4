//! Merging of a running sandbox's generations: in the background once they are many, and when it is asked
//! for.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_support::{TestEnv, expect_code, succeed, upper_disk};

use super::disks;
use super::durability::remove;
use super::snapshots::{machine_start, told};

const NAME: &str = "checks-merging";
/// Counts in a file, for ever: each number is written in the place of the one before.
const WRITER: &str = "number=0; while :; do number=$((number + 1)); \
    echo $number > /srv/next && sync /srv/next && mv /srv/next /srv/counted; done";
/// The number of snapshots: more than the generations from which on those that no snapshot needs apart are
/// merged in the background.
const SNAPSHOTS: u32 = 70;
/// The snapshots that are removed so that many generations can be merged, and later ones that are merged
/// when that is asked for.
const REMOVED_FIRST: std::ops::Range<u32> = 2..31;
const REMOVED_LATER: std::ops::Range<u32> = 50..56;
/// The time in which a process in the background merges some megabytes.
const MERGE_TIMEOUT: Duration = Duration::from_secs(60);

/// Checks that a running sandbox's generations become fewer, and that neither its files nor those of a
/// snapshot change by that.
pub(super) fn of_running(env: &TestEnv) -> Result<()> {
    let start = || {
        // A start without an answer leaves its sandbox.
        let _ = remove(env, NAME);
        let own = ["-d", "--name", NAME, "--network", "none"];
        let options = [&own[..], &["--upper-size", "256M"]].concat();
        env.run_command(&options, &["sh", "-c", WRITER])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    let waiting =
        "until test -e /srv/counted; do sleep 0.1; done; cat /proc/sys/kernel/random/boot_id";
    let boot_id = told(env, &["exec", NAME, "sh", "-c", waiting])?;
    for number in 1..=SNAPSHOTS {
        told(env, &["snapshot", "create", &at(number)])?;
        // The next one is to have something of its own.
        let changed = format!("echo {number} > /srv/seen");
        told(env, &["exec", NAME, "sh", "-c", &changed])?;
    }
    let kept = [1, 31, 49, 56, SNAPSHOTS];
    let before: Vec<String> = kept
        .iter()
        .map(|one| files(env, *one))
        .collect::<Result<_>>()?;
    let many = generations(env)?;
    let counted = number(&told(env, &["exec", NAME, "cat", "/srv/counted"])?)?;
    // Each removal looks, and the first that finds enough of them has them merged.
    remove_snapshots(env, REMOVED_FIRST)?;
    let fewer = many - 15;
    let until = Instant::now() + MERGE_TIMEOUT;
    while generations(env)? > fewer {
        ensure!(Instant::now() < until, "{many} generations are not merged");
        std::thread::sleep(Duration::from_millis(50));
    }
    remove_snapshots(env, REMOVED_LATER)?;
    // It waits until the process in the background has ended.
    told(env, &["snapshot", "prune", "--force", NAME])?;
    let left = generations(env)?;
    ensure!(
        left <= many - 28 - 6,
        "{left} of {many} generations are left"
    );
    let after: Vec<String> = kept
        .iter()
        .map(|one| files(env, *one))
        .collect::<Result<_>>()?;
    ensure!(after == before, "{after:?} and {before:?}");
    told(env, &["snapshot", "verify", NAME])?;
    let directory = disks::directory(env, NAME)?;
    for number in kept {
        let raw = env.work.join("merged.ext4");
        upper_disk::export_snapshot(&directory, &number.to_string(), &raw)?;
        succeed(std::process::Command::new("e2fsck").arg("-fn").arg(&raw))?;
    }
    let same = told(
        env,
        &["exec", NAME, "cat", "/proc/sys/kernel/random/boot_id"],
    )?;
    ensure!(same == boot_id, "the machine was started again");
    let last = number(&told(env, &["exec", NAME, "cat", "/srv/counted"])?)?;
    ensure!(last > counted, "the writer stood still at {counted}");
    told(env, &["stop", "-t", "0", NAME])?;
    expect_code(&env.retried(|| machine_start(env, NAME), &[])?, 0)?;
    told(env, &["stop", "-t", "0", NAME])?;
    let seen = told(env, &["fs", "cat", NAME, "/srv/seen"])?;
    ensure!(number(&seen)? == SNAPSHOTS, "{seen}");
    remove(env, NAME)
}

/// Returns what a snapshot has of the files that are written all the time.
fn files(env: &TestEnv, snapshot: u32) -> Result<String> {
    let at = at(snapshot);
    let counted = told(env, &["fs", "cat", &at, "/srv/counted"])?;
    // The first one was taken before the file was made.
    let seen = if snapshot == 1 {
        String::new()
    } else {
        told(env, &["fs", "cat", &at, "/srv/seen"])?
    };
    Ok(format!("{snapshot}: {counted}{seen}"))
}

fn remove_snapshots(env: &TestEnv, numbers: std::ops::Range<u32>) -> Result<()> {
    let names: Vec<String> = numbers.map(at).collect();
    let mut words = vec!["snapshot", "rm"];
    words.extend(names.iter().map(String::as_str));
    told(env, &words).map(drop)
}

/// Returns the number of generations, the head and those that are not used any more included.
fn generations(env: &TestEnv) -> Result<usize> {
    let directory = disks::directory(env, NAME)?.join("generations");
    let mut count = 0;
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        count += usize::from(name.to_string_lossy().ends_with(".data"));
    }
    Ok(count)
}

fn at(number: u32) -> String {
    format!("{NAME}@{number}")
}

fn number(text: &str) -> Result<u32> {
    text.trim().parse().with_context(|| text.to_owned())
}
