//! A kill reaches every process that a command has started, and commands leave no control group.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use msb_runtime::{Home, Overrides, Sandbox, exec_in};

use super::durability::remove;
use test_support::{Speaking, TestEnv, describe, expect_code, spawn};

const NAME: &str = "checks-groups";
/// Starts a process that leaves the command's process group and session.
const ESCAPE: &str = "setsid -f sleep 4242";
/// Prints the number of such processes. Its own command line does not match.
const COUNT: &str = "grep -alz '^424[2]$' /proc/[0-9]*/cmdline 2>/dev/null | wc -l";
/// Prints the number of commands that have a control group below that of the main command: this one.
const GROUPS: &str = "ls -d /sys/fs/cgroup/exec-*/ | wc -l";
const COMMANDS: usize = 500;

pub(super) fn killed(env: &TestEnv) -> Result<()> {
    let line = || {
        let _ = remove(env, NAME);
        env.run_command(&["-d", "--name", NAME], &["sleep", "600"])
    };
    expect_code(&env.retried(line, &[])?, 0)?;
    by_disconnection(env)?;
    by_signal(env)?;
    left_behind(env)?;
    for_many_commands(env)?;
    ensure!(sh(env, GROUPS)? == "1", "groups are left");
    expect_code(&env.msb().args(["kill", NAME]).output()?, 0)?;
    remove(env, NAME)
}

/// Checks that a command dies with all its processes if its client is gone.
fn by_disconnection(env: &TestEnv) -> Result<()> {
    let script = format!("{ESCAPE}; echo up; sleep 600");
    let mut line = env.msb();
    line.args(["exec", NAME, "sh", "-c", &script]);
    let mut client = Speaking::heard(spawn(&mut line)?, "up")?.child;
    ensure!(sh(env, COUNT)? == "1", "the process does not run");
    client.kill()?;
    client.wait()?;
    await_none(env)
}

/// Checks the same for SIGKILL to a job.
fn by_signal(env: &TestEnv) -> Result<()> {
    let script = format!("{ESCAPE}; touch /up; sleep 600");
    let started = env
        .msb()
        .args(["exec", "-d", NAME, "sh", "-c", &script])
        .output()?;
    expect_code(&started, 0)?;
    sh(env, "until test -e /up; do sleep 0.1; done")?;
    ensure!(sh(env, COUNT)? == "1", "the process does not run");
    let killed = env.msb().args(["kill", "--job", "1", NAME]).output()?;
    expect_code(&killed, 0)?;
    await_none(env)
}

/// Checks that what a command leaves running at its own end goes on, as with docker.
fn left_behind(env: &TestEnv) -> Result<()> {
    sh(env, &format!("{ESCAPE} >/dev/null 2>&1"))?;
    ensure!(sh(env, COUNT)? == "1", "the process ended with its command");
    sh(
        env,
        "kill $(grep -alz '^424[2]$' /proc/[0-9]*/cmdline | cut -d/ -f3)",
    )?;
    await_none(env)
}

/// Runs many commands over one connection.
fn for_many_commands(env: &TestEnv) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let home = Home::new(env.home());
        let sandbox = Sandbox::find(&home, NAME)?.context("no such sandbox")?;
        let overrides = Overrides {
            command: vec!["true".to_owned()],
            ..Overrides::default()
        };
        let exec = exec_in(&sandbox.spec.process, &overrides)?;
        let mut client = sandbox.connect().await?;
        for _ in 0..COMMANDS {
            let mut outputs = client.exec(exec.clone()).await?.outputs;
            while outputs.next().await?.is_some() {}
        }
        Ok(())
    })
}

fn await_none(env: &TestEnv) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(60);
    while sh(env, COUNT)? != "0" {
        ensure!(Instant::now() < deadline, "a process outlives its command");
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

fn sh(env: &TestEnv, script: &str) -> Result<String> {
    let output = env
        .msb()
        .args(["exec", NAME, "sh", "-c", script])
        .output()?;
    ensure!(output.status.success(), "{}", describe(&output));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
