//! The main command is process 1 of the sandbox's own namespaces, which commands and calls on files enter.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use test_support::{TestEnv, describe, expect_code, finish, spawn};

use super::durability::remove;
use super::snapshots::told;

const NAME: &str = "checks-process-1";
/// Reloads at SIGHUP as a server does, and ends at SIGTERM.
const SERVER: &str = "trap 'echo reloaded' HUP; trap 'exit 5' TERM; echo up $$; \
    while :; do sleep 0.05; done";
/// Fails unless the process is in the namespaces of process 1, and sees nothing of the machine's.
const JOINED: &str = "set -e; for kind in pid mnt cgroup; do \
    test $(readlink /proc/self/ns/$kind) = $(readlink /proc/1/ns/$kind); done; \
    grep -q '^0::/exec-' /proc/self/cgroup; grep -qx 0::/init /proc/1/cgroup; \
    ! grep -qsx kthreadd /proc/[0-9]*/comm";
/// Mounts memory, and puts a file there.
const MOUNTED: &str =
    "mkdir -p /mnt/own && mount -t tmpfs none /mnt/own && echo inside > /mnt/own/file";
/// Fails if a mount of the last start is there.
const RESTARTED: &str =
    "echo $$; mountpoint -q /srv && echo mounted; mount -t tmpfs none /srv; exit 3";
/// Leaves an orphan that ends, and fails if a zombie stays.
const ORPHAN: &str = "set -e; test $$ != 1; test \"$(cat /proc/1/comm)\" = msb-init; \
    setsid -f sh -c 'exit 0'; sleep 0.5; for try in $(seq 600); do \
    grep -qs '^State:.Z' /proc/[0-9]*/status || exit 9; sleep 0.1; done";
/// Writes a file when it is asked to end, in its own time.
const SLOW: &str = "trap 'sleep 1; echo ended > /ended; exit' TERM; touch /begun; \
    while :; do sleep 0.05; done";
const LOG_TIMEOUT: Duration = Duration::from_secs(60);
/// A time in which a sandbox stops whose processes are not waited for, far shorter than the time that they would have.
const STOP_TIMEOUT: Duration = Duration::from_secs(120);

/// Checks the main command, and commands that join it.
pub(super) fn main_command(env: &TestEnv) -> Result<()> {
    start(env, &[], &["sh", "-c", SERVER])?;
    logged(env, "up 1\n")?;
    guest(env, JOINED)?;
    guest(env, "kill -HUP 1")?;
    logged(env, "reloaded\n")?;
    guest(env, "echo as from cron > /proc/1/fd/1")?;
    logged(env, "as from cron\n")?;
    // The kernel keeps signals from a process 1 that does not handle them.
    guest(
        env,
        "kill -KILL 1; kill -USR1 1; sleep 0.2; test -e /proc/1",
    )?;
    files(env)?;
    let left = spawn(env.msb().args(["exec", NAME, "sleep", "600"]))?;
    guest(
        env,
        "until grep -qx sleep /proc/[0-9]*/comm; do :; done; kill -TERM 1",
    )?;
    expect_code(&finish(left, &[])?, 137)?;
    expect_code(&env.msb().args(["wait", NAME]).output()?, 5)?;
    remove(env, NAME)?;
    unhandled(env)?;
    restarted(env)
}

/// Checks that calls on files see what a command has mounted.
fn files(env: &TestEnv) -> Result<()> {
    guest(env, MOUNTED)?;
    ensure!(told(env, &["fs", "cat", NAME, "/mnt/own/file"])? == "inside\n");
    let writing = spawn(env.msb().args(["fs", "write", NAME, "/mnt/own/written"]))?;
    expect_code(&finish(writing, b"outside")?, 0)?;
    ensure!(guest(env, "cat /mnt/own/written")? == "outside");
    // A pipe has its permissions set by its descriptor.
    let packed =
        "mkdir /pipes && mkfifo -m 0644 /pipes/one && chmod 0604 /pipes/one && tar -cC / pipes";
    let packed = env
        .msb()
        .args(["exec", NAME, "sh", "-c", packed])
        .output()?;
    expect_code(&packed, 0)?;
    let copying = spawn(env.msb().args(["cp", "-", &format!("{NAME}:/mnt/own")]))?;
    expect_code(&finish(copying, &packed.stdout)?, 0)?;
    ensure!(guest(env, "stat -c '%F %a' /mnt/own/pipes/one")? == "fifo 604\n");
    ensure!(told(env, &["top", NAME])?.contains("sleep"));
    Ok(())
}

/// Checks that a command without a handler is killed once its time is over.
fn unhandled(env: &TestEnv) -> Result<()> {
    start(env, &[], &["sleep", "600"])?;
    told(env, &["stop", "-t", "1", NAME])?;
    expect_code(&env.msb().args(["wait", NAME]).output()?, 137)?;
    remove(env, NAME)
}

/// Checks that each start has new namespaces.
fn restarted(env: &TestEnv) -> Result<()> {
    start(
        env,
        &["--restart", "on-failure:1"],
        &["sh", "-c", RESTARTED],
    )?;
    expect_code(&env.msb().args(["wait", NAME]).output()?, 3)?;
    let log = told(env, &["logs", NAME])?;
    ensure!(log == "1\n1\n", "{log}");
    remove(env, NAME)
}

/// Checks the init, the holder, the namespaces of the machine, and nested ones.
pub(super) fn others(env: &TestEnv) -> Result<()> {
    let run = |options: &[&str], command: &[&str]| {
        env.retried(
            || env.run_command(&[&["--rm"], options].concat(), command),
            &[],
        )
    };
    expect_code(&run(&["--init"], &["sh", "-c", ORPHAN])?, 9)?;
    expect_code(
        &run(&["--init", "-u", "65534"], &["sh", "-c", "kill -KILL $$"])?,
        137,
    )?;
    let host = run(
        &["--pid", "host"],
        &["sh", "-c", "test $$ != 1; cat /proc/1/comm"],
    )?;
    ensure!(host.stdout == b"init\n", "{}", describe(&host));
    let nested = [
        "unshare",
        "--fork",
        "--pid",
        "--mount-proc",
        "--cgroup",
        "sh",
        "-c",
        "echo $$; ls /proc",
    ];
    let nested = run(&[], &nested)?;
    ensure!(
        nested.stdout.starts_with(b"1\n1\n"),
        "{}",
        describe(&nested)
    );
    start(env, &["--init"], &["sleep", "600"])?;
    stopped_at_once(env)?;
    expect_code(&env.msb().args(["wait", NAME]).output()?, 143)?;
    remove(env, NAME)?;
    held(env)
}

/// Checks a sandbox without a main command.
fn held(env: &TestEnv) -> Result<()> {
    let line = || {
        let _ = remove(env, NAME);
        env.run_command(&["-d", "--name", NAME, "--no-command"], &[])
    };
    expect_code(&env.retried(line, &[])?, 0)?;
    ensure!(guest(env, "cat /proc/1/comm")? == "msb-init\n");
    guest(env, &format!("kill -TERM 1; kill -HUP 1; {JOINED}"))?;
    guest(
        env,
        "setsid -f true; sleep 0.5; for try in $(seq 600); do \
        grep -qs '^State:.Z' /proc/[0-9]*/status || exit 0; sleep 0.1; done; exit 1",
    )?;
    told(env, &["exec", "-d", NAME, "sh", "-c", SLOW])?;
    guest(env, "until test -e /begun; do sleep 0.05; done")?;
    stopped_at_once(env)?;
    expect_code(
        &env.retried(|| super::snapshots::machine_start(env, NAME), &[])?,
        0,
    )?;
    ensure!(told(env, &["fs", "cat", NAME, "/ended"])? == "ended\n");
    stopped_at_once(env)?;
    remove(env, NAME)
}

fn stopped_at_once(env: &TestEnv) -> Result<()> {
    let began = Instant::now();
    told(env, &["stop", "-t", "600", NAME])?;
    let took = began.elapsed();
    ensure!(took < STOP_TIMEOUT, "the stop took {took:?}");
    Ok(())
}

fn start(env: &TestEnv, options: &[&str], command: &[&str]) -> Result<()> {
    let line = || {
        let _ = remove(env, NAME);
        env.run_command(&[&["-d", "--name", NAME], options].concat(), command)
    };
    expect_code(&env.retried(line, &[])?, 0)
}

fn guest(env: &TestEnv, script: &str) -> Result<String> {
    told(env, &["exec", NAME, "sh", "-c", script])
}

/// Waits until the log ends with a line.
fn logged(env: &TestEnv, line: &str) -> Result<()> {
    let deadline = Instant::now() + LOG_TIMEOUT;
    loop {
        let log = told(env, &["logs", NAME])?;
        if log.ends_with(line) {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "no {line:?} in {log:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
