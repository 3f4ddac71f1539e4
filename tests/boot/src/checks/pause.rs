//! Processes of a paused sandbox stand still, and everything else works.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::durability::{kill_machine, remove};
use super::snapshots::{machine_start, told};
use test_support::{TestEnv, describe, expect_code, finish, spawn};

const NAME: &str = "checks-paused";
const COUNT: &str = include_str!("pause.sh");
const COUNTERS: [&str; 3] = ["main", "left", "moved"];
/// A time in which each of them counts on, if it is not frozen.
const LONG: Duration = Duration::from_millis(500);
const COUNT_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn stands_still(env: &TestEnv) -> Result<()> {
    let line = || {
        let _ = remove(env, NAME);
        let own = ["-d", "--name", NAME, "--network", "none"];
        env.run_command(&own, &["sh", "-c", COUNT])
    };
    expect_code(&env.retried(line, &[])?, 0)?;
    counts_on(env, [0; 3])?;
    refused(env, &["unpause", NAME], "is not paused")?;
    ensure!(told(env, &["pause", NAME])? == format!("{NAME}\n"));
    let paused = counters(env)?;
    std::thread::sleep(LONG);
    ensure!(counters(env)? == paused, "a process goes on");
    shown(env)?;
    refused(env, &["pause", NAME], "is paused")?;
    refused(env, &["exec", NAME, "true"], "is paused")?;
    refused(env, &["exec", "-d", NAME, "true"], "is paused")?;
    refused(env, &["attach", NAME], "is paused")?;
    refused(env, &["start", NAME], "is running")?;
    files_and_snapshots(env)?;
    told(env, &["unpause", NAME])?;
    counts_on(env, paused)?;
    ends(env)
}

/// Checks that every client sees the pause.
fn shown(env: &TestEnv) -> Result<()> {
    let listed = told(env, &["ps", "--format", "{{.Names}} {{.State}}"])?;
    ensure!(listed.contains(&format!("{NAME} paused\n")), "{listed}");
    let listed = told(
        env,
        &[
            "ps",
            "-q",
            "--filter",
            "status=running",
            "--filter",
            "name=paused",
        ],
    )?;
    ensure!(listed.is_empty(), "{listed}");
    let table = told(env, &["ps"])?;
    ensure!(table.contains("(Paused)"), "{table}");
    let format = "{{.State.Status}} {{.State.Running}} {{.State.Paused}} {{.state}}";
    let inspected = told(env, &["inspect", "--format", format, NAME])?;
    ensure!(inspected == "paused true true paused\n", "{inspected}");
    Ok(())
}

/// Checks what goes without a process of the guest.
fn files_and_snapshots(env: &TestEnv) -> Result<()> {
    let writing = spawn(env.msb().args(["fs", "write", NAME, "/srv/file"]))?;
    expect_code(&finish(writing, b"written")?, 0)?;
    ensure!(told(env, &["fs", "cat", NAME, "/srv/file"])? == "written");
    told(env, &["stats", "--no-stream", NAME])?;
    let snapshot = format!("{NAME}@paused");
    if env.vmm() == "qemu" {
        told(env, &["snapshot", "create", &snapshot])?;
        let inspected = told(env, &["snapshot", "inspect", &snapshot])?;
        ensure!(inspected.contains("\"frozen\""), "{inspected}");
    }
    Ok(())
}

/// Checks each way in which a paused sandbox ends, and that it is not paused when it is started again.
fn ends(env: &TestEnv) -> Result<()> {
    told(env, &["pause", NAME])?;
    let mut waiting = spawn(env.msb().args(["wait", NAME]))?;
    ensure!(waiting.try_wait()?.is_none(), "the wait is over");
    told(env, &["stop", "-t", "60", NAME])?;
    let waited = waiting.wait_with_output()?;
    ensure!(waited.stdout == b"7\n", "{}", describe(&waited));
    started_afresh(env)?;
    told(env, &["pause", NAME])?;
    kill_machine(&super::disks::directory(env, NAME)?)?;
    // The command has the exit code of one that was killed.
    expect_code(&env.msb().args(["wait", NAME]).output()?, 137)?;
    ensure!(told(env, &["inspect", "--format", "{{.state}}", NAME])? == "stopped\n");
    started_afresh(env)?;
    told(env, &["pause", NAME])?;
    told(env, &["kill", NAME])?;
    started_afresh(env)?;
    told(env, &["pause", NAME])?;
    told(env, &["rm", "-f", NAME]).map(drop)
}

fn started_afresh(env: &TestEnv) -> Result<()> {
    expect_code(&env.retried(|| machine_start(env, NAME), &[])?, 0)?;
    ensure!(told(env, &["inspect", "--format", "{{.state}}", NAME])? == "running\n");
    counts_on(env, [0; 3])
}

/// Waits until each counter is greater than before.
fn counts_on(env: &TestEnv, before: [u64; 3]) -> Result<()> {
    let deadline = Instant::now() + COUNT_TIMEOUT;
    loop {
        let now = counters(env)?;
        if now.iter().zip(&before).all(|(now, before)| now > before) {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{now:?} after {before:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the counters, 0 for one that has not begun, without a command in the guest.
fn counters(env: &TestEnv) -> Result<[u64; 3]> {
    let mut counters = [0; 3];
    for (counter, name) in counters.iter_mut().zip(COUNTERS) {
        let path = format!("/dev/shm/{name}");
        let mut line: Command = env.msb();
        let read = line.args(["fs", "cat", NAME, &path]).output()?;
        if read.status.success() {
            *counter = String::from_utf8(read.stdout)?.trim().parse()?;
        }
    }
    Ok(counters)
}

fn refused(env: &TestEnv, words: &[&str], reason: &str) -> Result<()> {
    let output = env.msb().args(words).output()?;
    expect_code(&output, 125)?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(said.contains(reason), "{}", describe(&output));
    Ok(())
}
