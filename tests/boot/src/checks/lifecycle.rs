use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::durability::remove;
use test_support::{Speaking, TestEnv, describe, expect_code, finish, spawn};

const NAME: &str = "checks-living";
/// Prints that it runs, then waits to be ended.
const SCRIPT: &str = "echo up; trap 'exit 3' TERM; while :; do sleep 1; done";

/// Checks many commands at once in a running sandbox, then a stop.
pub(super) fn exec_and_stop(env: &TestEnv) -> Result<()> {
    let first = living(env)?;
    inherits(env)?;
    streams(env)?;
    at_once(env)?;
    time_is_up(env)?;
    signal_past_input(env)?;
    let stopped = env.msb().args(["stop", NAME]).output()?;
    expect_code(&stopped, 0)?;
    ensure!(
        stopped.stdout == format!("{NAME}\n").as_bytes() && stopped.stderr.is_empty(),
        "{}",
        describe(&stopped)
    );
    // The exit code is the command's own, because it caught the signal.
    expect_code(&first.end()?, 3)?;
    not_running(env)?;
    remove(env, NAME)
}

/// Checks that every client sees that a machine is killed.
pub(super) fn kill(env: &TestEnv) -> Result<()> {
    let first = living(env)?;
    let waiting = spawn(&mut exec(env, &[], &["sleep", "600"]))?;
    let killed = env.msb().args(["kill", NAME]).output()?;
    expect_code(&killed, 0)?;
    expect_code(&first.end()?, 125)?;
    expect_code(&finish(waiting, &[])?, 125)?;
    not_running(env)?;
    remove(env, NAME)
}

/// Checks that the output and exit of a command without an attached client are kept.
pub(super) fn detached(env: &TestEnv) -> Result<()> {
    let script =
        "echo out; echo err >&2; until test -e /go; do sleep 0.1; done; printf end; exit 4";
    let line = || {
        let _ = remove(env, NAME);
        env.run_command(&["-d", "--name", NAME], &["sh", "-c", script])
    };
    let started = env.retried(line, &[])?;
    expect_code(&started, 0)?;
    ensure!(
        started.stdout.trim_ascii().len() == 12,
        "{}",
        describe(&started)
    );
    let follower = spawn(env.msb().args(["logs", "-f", NAME]))?;
    expect_code(&exec(env, &[], &["touch", "/go"]).output()?, 0)?;
    let waited = env.msb().args(["wait", NAME]).output()?;
    expect_code(&waited, 4)?;
    ensure!(waited.stdout == b"4\n", "{}", describe(&waited));
    let followed = finish(follower, &[])?;
    let kept = env.msb().args(["logs", NAME]).output()?;
    for output in [followed, kept] {
        expect_code(&output, 0)?;
        ensure!(
            output.stdout == b"out\nend" && output.stderr == b"err\n",
            "{}",
            describe(&output)
        );
    }
    not_running(env)?;
    remove(env, NAME)?;
    let line = || {
        let _ = remove(env, NAME);
        env.run_command(&["-d", "--name", NAME], &["no-such-program"])
    };
    expect_code(&env.retried(line, &[])?, 127)?;
    remove(env, NAME)
}

fn exec(env: &TestEnv, options: &[&str], command: &[&str]) -> Command {
    let mut line = env.msb();
    line.arg("exec").args(options).arg(NAME).args(command);
    line
}

/// Checks that later commands inherit the -e, -w and -u of `msb run`, or override them.
fn inherits(env: &TestEnv) -> Result<()> {
    let script = "echo $A $B $(pwd) $(id -u)";
    for (options, expected) in [
        (&[][..], "1 /srv 65534\n"),
        (
            &["-e", "A=2", "-e", "B=3", "-w", "/tmp", "-u", "0"][..],
            "2 3 /tmp 0\n",
        ),
    ] {
        let output = exec(env, options, &["sh", "-c", script]).output()?;
        expect_code(&output, 0)?;
        ensure!(
            output.stdout == expected.as_bytes(),
            "expected {expected:?}, got {}",
            describe(&output)
        );
    }
    // A working directory given here must exist, and is not created.
    for _ in 0..2 {
        let missing = exec(env, &["-w", "/tmp/new"], &["pwd"]).output()?;
        expect_code(&missing, 125)?;
        ensure!(
            describe(&missing).contains("cannot use /tmp/new as working directory"),
            "{}",
            describe(&missing)
        );
    }
    Ok(())
}

fn streams(env: &TestEnv) -> Result<()> {
    let mut line = exec(
        env,
        &["-i"],
        &["sh", "-c", "wc -c; echo err >&2; kill -KILL $$"],
    );
    let output = finish(spawn(&mut line)?, &[0; 100_000])?;
    expect_code(&output, 128 + 9)?;
    ensure!(
        output.stdout == b"100000\n" && output.stderr == b"err\n",
        "{}",
        describe(&output)
    );
    expect_code(&exec(env, &[], &["no-such-program"]).output()?, 127)?;
    expect_code(&exec(env, &[], &["/etc"]).output()?, 126)
}

fn at_once(env: &TestEnv) -> Result<()> {
    let children = (0..20)
        .map(|number| {
            spawn(&mut exec(
                env,
                &[],
                &["sh", "-c", &format!("echo {number}; exit {number}")],
            ))
        })
        .collect::<Result<Vec<Child>>>()?;
    for (number, child) in children.into_iter().enumerate() {
        let output = finish(child, &[])?;
        expect_code(&output, i32::try_from(number)?)?;
        ensure!(
            output.stdout == format!("{number}\n").as_bytes(),
            "{}",
            describe(&output)
        );
    }
    Ok(())
}

fn time_is_up(env: &TestEnv) -> Result<()> {
    let output = exec(env, &["--timeout", "1"], &["sleep", "600"]).output()?;
    expect_code(&output, 124)?;
    ensure!(
        output.stderr == b"msb: stopped: --timeout 1s has elapsed\n",
        "{}",
        describe(&output)
    );
    // It does not exist in the guest either.
    let left = exec(env, &["-u", "0"], &["sh", "-c", LOOK_FOR_SLEEP]).output()?;
    expect_code(&left, 0)
}

/// Fails if a process `sleep 600` exists. Tries repeatedly, because the host need not wait for its
/// end.
const LOOK_FOR_SLEEP: &str = "for try in $(seq 200); do \
    grep -qsaz '^600$' /proc/[0-9]*/cmdline || exit 0; sleep 0.3; done; exit 1";

/// Checks that a signal reaches a command that does not read its input.
fn signal_past_input(env: &TestEnv) -> Result<()> {
    let mut line = exec(env, &["-i"], &["sh", "-c", "echo up; exec sleep 600"]);
    let mut child = spawn(&mut line)?;
    let mut stdin = child.stdin.take().context("no pipe to standard input")?;
    // Until msb's buffers are full; then the pipe's end closes with the child.
    let feed = std::thread::spawn(move || std::io::copy(&mut std::io::repeat(0), &mut stdin));
    let mut child = Speaking::heard(child, "up")?.child;
    std::thread::sleep(Duration::from_millis(500));
    let sent = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status()?;
    ensure!(sent.success(), "cannot signal msb exec");
    let status = child.wait()?;
    ensure!(status.code() == Some(128 + 15), "msb exec gave {status}");
    let _ = feed.join();
    Ok(())
}

fn not_running(env: &TestEnv) -> Result<()> {
    for line in [&["exec", NAME, "true"][..], &["kill", NAME]] {
        let output = env.msb().args(line).output()?;
        expect_code(&output, 125)?;
        ensure!(
            describe(&output).contains("is not running"),
            "{}",
            describe(&output)
        );
    }
    // `docker stop` behaves the same.
    let stopped = env.msb().args(["stop", NAME]).output()?;
    expect_code(&stopped, 0)?;
    ensure!(
        stopped.stdout == format!("{NAME}\n").as_bytes() && stopped.stderr.is_empty(),
        "{}",
        describe(&stopped)
    );
    Ok(())
}

/// Starts a sandbox whose main command waits.
fn living(env: &TestEnv) -> Result<Speaking> {
    env.speaking("up", || {
        remove(env, NAME)?;
        let options = ["--name", NAME, "-e", "A=1", "-w", "/srv", "-u", "65534"];
        Ok(env.run_command(&options, &["sh", "-c", SCRIPT]))
    })
}
