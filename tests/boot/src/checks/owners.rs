//! A sandbox ends with its last owner, also if that is killed.

use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::durability::remove;
use crate::owner;
use test_support::{TestEnv, describe, expect_code};

const NAME: &str = "checks-owned";
/// The time within which the machine and its sandbox are gone after the owner.
const END_TIMEOUT: Duration = Duration::from_secs(60);

/// Checks that a killed owner takes its sandbox with it, and one that gave it up does not.
pub(super) fn killed(env: &TestEnv) -> Result<()> {
    let directory = start(env)?;
    let machine = env.machine_pid(NAME)?;
    let first = owner::start(env.home(), NAME)?;
    let last = owner::start(env.home(), NAME)?;
    kill(first.child)?;
    expect_code(&exec(env)?, 0)?;
    kill(last.child)?;
    let deadline = Instant::now() + END_TIMEOUT;
    while runs(machine) {
        ensure!(Instant::now() < deadline, "the machine outlives its owner");
        std::thread::sleep(Duration::from_millis(20));
    }
    // QEMU may still be ending, and the sandbox counts as running until then.
    loop {
        let listed = env.msb().args(["ls", "-q"]).output()?;
        if listed.status.success() && listed.stdout.is_empty() {
            break;
        }
        ensure!(Instant::now() < deadline, "{}", describe(&listed));
    }
    ensure!(!directory.exists(), "{} is left", directory.display());

    let directory = start(env)?;
    let mut owner = owner::start(env.home(), NAME)?;
    owner::release(&mut owner)?;
    kill(owner.child)?;
    expect_code(&exec(env)?, 0)?;
    expect_code(&env.msb().args(["kill", NAME]).output()?, 0)?;
    let listed = env.msb().args(["ls", "-q"]).output()?;
    ensure!(!listed.stdout.is_empty(), "{}", describe(&listed));
    ensure!(directory.exists(), "{} was removed", directory.display());
    remove(env, NAME)
}

/// Starts a detached sandbox and returns its directory.
fn start(env: &TestEnv) -> Result<PathBuf> {
    let line = || {
        let _ = remove(env, NAME);
        env.run_command(&["-d", "--name", NAME], &["sleep", "600"])
    };
    let started = env.retried(line, &[])?;
    expect_code(&started, 0)?;
    let id = String::from_utf8(started.stdout)?;
    Ok(env.home().join("sandboxes").join(id.trim()))
}

fn exec(env: &TestEnv) -> Result<std::process::Output> {
    let output = env.msb().args(["exec", NAME, "true"]).output();
    output.context("cannot run msb exec")
}

fn kill(mut owner: Child) -> Result<()> {
    // SIGKILL.
    owner.kill()?;
    owner.wait()?;
    Ok(())
}

fn runs(process: u32) -> bool {
    let status = fs_err::read_to_string(format!("/proc/{process}/status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}
