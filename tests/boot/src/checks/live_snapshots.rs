//! Snapshots of a sandbox whose programs write meanwhile.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use fs_err as fs;
use test_support::{TestEnv, expect_code, spawn, succeed, upper_disk};

use super::durability::{kill_machine, remove};
use super::snapshots::{machine_start, told};

const NAME: &str = "checks-live";
const FORK: &str = "checks-live-fork";
/// Inserts rows, counts with an fsync, and counts without one, for ever. What is written, or synced, is
/// told in files in memory afterwards.
const WRITER: &str = include_str!("live_snapshots.py");
/// Waits until each writer has told a number.
const WRITING: &str =
    "cd /dev/shm; until test -e rows -a -e counted -a -e written; do sleep 0.1; done";
/// Prints the numbers that the guest has told, a line each.
const TOLD: &str = "cd /dev/shm; cat rows; echo; cat counted; echo; cat written; echo";
/// Prints the result of sqlite's check, the number of rows and the highest one.
const LOOK: &str = "import sqlite3, sys; database = sqlite3.connect(sys.argv[1]); \
    print(*database.execute('PRAGMA integrity_check').fetchone(), \
    *database.execute('SELECT count(*), max(number) FROM rows').fetchone())";
/// The size of the disk, in bytes, above the other limits on the lengths of files. Its last block is not whole, but that of
/// the disk's files is.
const SIZE: &str = "1395864576";
/// The times after which a client that takes a snapshot is killed.
const KILLED_AFTER_MS: [u64; 6] = [5, 20, 60, 120, 200, 400];

/// Checks that each snapshot of a running sandbox has all that was synced, and a frozen one all that was
/// written, and that a client or a machine that is killed meanwhile leaves whole snapshots alone.
pub(super) fn whole(env: &TestEnv) -> Result<()> {
    let start = || {
        // A start without an answer leaves its sandbox.
        let _ = remove(env, NAME);
        let own = ["-d", "--name", NAME, "--network", "none"];
        let options = [&own[..], &["--upper-size", SIZE]].concat();
        env.run_command(&options, &["python3", "-c", WRITER])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    guest(env, WRITING)?;
    for round in 0..3 {
        take(env, &format!("frozen-{round}"), &[], "frozen")?;
    }
    for round in 0..2 {
        take(env, &format!("crash-{round}"), &["--no-freeze"], "crash")?;
    }
    let listed = told(env, &["diff", NAME, "--", "/srv/counted"])?;
    ensure!(listed == "A /srv/counted\n", "{listed}");
    told(env, &["snapshot", "rm", &at("frozen-1")])?;
    let before_forks = Numbers::told(env)?;
    let forked = told(env, &["fork", "-n", "3", NAME, FORK])?;
    ensure!(
        forked == format!("{FORK}-1\n{FORK}-2\n{FORK}-3\n"),
        "{forked}"
    );
    clients_killed(env)?;
    let before = Numbers::told(env)?;
    let taking = spawn(env.msb().args(["snapshot", "create", &at("last")]))?;
    kill_machine(&super::disks::directory(env, NAME)?)?;
    let _ = taking.wait_with_output()?;
    expect_whole(env)?;
    expect_code(&env.retried(|| machine_start(env, NAME), &[])?, 0)?;
    let counted = guest(env, "cat /srv/counted")?;
    ensure!(
        number(&counted)? >= before.counted,
        "{counted} of {before:?}"
    );
    told(env, &["stop", "-t", "0", NAME])?;
    expect_whole(env)?;
    remove(env, NAME)?;
    forks_go_on(env, &before_forks)
}

/// Checks that forks of the sandbox, which is removed, have what it had told, and change nothing of each
/// other.
fn forks_go_on(env: &TestEnv, before: &Numbers) -> Result<()> {
    let [first, second, third] = [1, 2, 3].map(|number| format!("{FORK}-{number}"));
    let counted = told(env, &["fs", "cat", &second, "/srv/counted"])?;
    ensure!(
        number(&counted)? >= before.counted,
        "{counted} of {before:?}"
    );
    expect_code(&env.retried(|| machine_start(env, &first), &[])?, 0)?;
    let host = told(env, &["exec", &first, "hostname"])?;
    ensure!(host.trim() == first, "{host}");
    // Its own writer goes on from there, as its sqlite has checked the database.
    let waiting = "until test -e /dev/shm/rows; do sleep 0.1; done; cat /dev/shm/rows";
    let rows = told(env, &["exec", &first, "sh", "-c", waiting])?;
    ensure!(number(&rows)? >= before.rows, "{rows} of {before:?}");
    told(env, &["snapshot", "create", &format!("{first}@own")])?;
    told(env, &["stop", "-t", "0", &first])?;
    told(env, &["snapshot", "verify", &first])?;
    let untouched = told(env, &["fs", "cat", &second, "/srv/counted"])?;
    ensure!(untouched == counted, "{untouched} and {counted}");
    for name in [&first, &second] {
        told(env, &["rm", name])?;
    }
    let options = [
        "--rm",
        "--memory",
        "512M",
        "--network",
        "none",
        "--from",
        &third,
    ];
    let line = || {
        let mut line = env.machine_command("run");
        line.args(options).args(["cat", "/srv/counted"]);
        line
    };
    let run = env.retried(line, &[])?;
    expect_code(&run, 0)?;
    ensure!(run.stdout == counted.as_bytes(), "another content");
    told(env, &["rm", &third]).map(drop)
}

/// The numbers that the guest has told, or that its files have.
#[derive(Debug)]
struct Numbers {
    rows: u64,
    counted: u64,
    written: u64,
}

impl Numbers {
    fn told(env: &TestEnv) -> Result<Self> {
        let text = guest(env, TOLD)?;
        let mut lines = text.lines().map(number);
        let mut next = || lines.next().context("a line is missing")?;
        Ok(Self {
            rows: next()?,
            counted: next()?,
            written: next()?,
        })
    }

    /// Reads the files of a snapshot, after sqlite has checked its own.
    fn kept(env: &TestEnv, snapshot: &str) -> Result<Self> {
        let directory = env.work.join(snapshot);
        let copied = directory.to_str().context("a path in UTF-8")?;
        told(env, &["cp", &format!("{}:/srv", at(snapshot)), copied])?;
        let database = directory.join("database");
        let looked = succeed(Command::new("python3").args(["-c", LOOK]).arg(&database))?;
        let looked = String::from_utf8(looked.stdout)?;
        let words: Vec<&str> = looked.split_whitespace().collect();
        let ["ok", count, last] = words[..] else {
            bail!("{snapshot}: {looked}");
        };
        ensure!(count == last, "{snapshot}: rows are missing: {looked}");
        let read = |name: &str| number(&fs::read_to_string(directory.join(name))?);
        Ok(Self {
            rows: number(last)?,
            counted: read("counted")?,
            written: read("written")?,
        })
    }
}

/// Takes a snapshot, and checks its files and its filesystem.
fn take(env: &TestEnv, name: &str, options: &[&str], consistency: &str) -> Result<()> {
    let before = Numbers::told(env)?;
    told(
        env,
        &[&["snapshot", "create"], options, &[&*at(name)]].concat(),
    )?;
    let found = told(
        env,
        &["snapshot", "inspect", "-f", "{{.consistency}}", &at(name)],
    )?;
    ensure!(found.trim() == consistency, "{name} is {found}");
    let kept = Numbers::kept(env, name)?;
    ensure!(
        kept.rows >= before.rows && kept.counted >= before.counted,
        "{name} has {kept:?}, and {before:?} were synced"
    );
    ensure!(
        consistency == "crash" || kept.written >= before.written,
        "{name} has {kept:?}, and {before:?} were written"
    );
    check(env, name, consistency)
}

/// Checks the filesystem of a snapshot. One that is as after a power cut has a journal to be replayed.
fn check(env: &TestEnv, name: &str, consistency: &str) -> Result<()> {
    let raw = env.work.join("live.ext4");
    let directory = super::disks::directory(env, NAME)?;
    upper_disk::export_snapshot(&directory, name, &raw)?;
    if consistency == "crash" {
        let replayed = Command::new("e2fsck").arg("-fy").arg(&raw).output()?;
        let code = replayed.status.code().context("it was killed")?;
        ensure!(code <= 1, "e2fsck -fy ended with {code}");
    }
    succeed(Command::new("e2fsck").arg("-fn").arg(&raw)).map(drop)
}

/// Kills clients that take snapshots. The guest goes on, and whole snapshots alone are left.
fn clients_killed(env: &TestEnv) -> Result<()> {
    for (round, after_ms) in KILLED_AFTER_MS.into_iter().enumerate() {
        let snapshot = at(&format!("killed-{round}"));
        let mut client = spawn(env.msb().args(["snapshot", "create", &snapshot]))?;
        std::thread::sleep(Duration::from_millis(after_ms));
        // It may have ended.
        let _ = client.kill();
        client.wait()?;
        guest(env, "echo thawed > /srv/thawed")?;
    }
    expect_whole(env)
}

/// Checks each snapshot that is listed.
fn expect_whole(env: &TestEnv) -> Result<()> {
    told(env, &["snapshot", "verify", NAME])?;
    let format = "{{.name}} {{.consistency}}";
    let listed = told(env, &["snapshot", "ls", "--format", format, NAME])?;
    for line in listed.lines() {
        let (name, consistency) = line.split_once(' ').context("two words")?;
        check(env, name, consistency)?;
    }
    Ok(())
}

fn at(snapshot: &str) -> String {
    format!("{NAME}@{snapshot}")
}

fn number(text: &str) -> Result<u64> {
    let text = text.trim();
    text.parse()
        .with_context(|| format!("'{text}' is no number"))
}

fn guest(env: &TestEnv, script: &str) -> Result<String> {
    told(env, &["exec", NAME, "sh", "-c", script])
}
