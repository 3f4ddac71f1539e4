use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::bed::{Bed, Speaking, describe, expect_code, finish, spawn};
use super::durability::remove;

const NAME: &str = "checks-living";
/// Says that it runs, then waits to be ended.
const SCRIPT: &str = "echo up; trap 'exit 3' TERM; while :; do sleep 1; done";

/// Commands in a sandbox that runs, many at once, then a stop.
pub(super) fn exec_and_stop(bed: &Bed) -> Result<()> {
    let first = living(bed)?;
    inherits(bed)?;
    streams(bed)?;
    at_once(bed)?;
    time_is_up(bed)?;
    signal_past_input(bed)?;
    let stopped = Command::new(&bed.msb).args(["stop", NAME]).output()?;
    expect_code(&stopped, 0)?;
    ensure!(
        stopped.stdout == format!("{NAME}\n").as_bytes() && stopped.stderr.is_empty(),
        "{}",
        describe(&stopped)
    );
    // The command's own code: it caught the signal.
    expect_code(&first.end()?, 3)?;
    not_running(bed)?;
    remove(bed, NAME)
}

/// A machine that is killed, seen by everybody.
pub(super) fn kill(bed: &Bed) -> Result<()> {
    let first = living(bed)?;
    let waiting = spawn(&mut exec(bed, &[], &["sleep", "600"]))?;
    let killed = Command::new(&bed.msb).args(["kill", NAME]).output()?;
    expect_code(&killed, 0)?;
    expect_code(&first.end()?, 125)?;
    expect_code(&finish(waiting, &[])?, 125)?;
    not_running(bed)?;
    remove(bed, NAME)
}

/// A command that nobody waits for: what it prints and how it ends are kept.
pub(super) fn detached(bed: &Bed) -> Result<()> {
    let script =
        "echo out; echo err >&2; until test -e /go; do sleep 0.1; done; printf end; exit 4";
    let line = || {
        let _ = remove(bed, NAME);
        bed.run_command(&["-d", "--name", NAME], &["sh", "-c", script])
    };
    let started = bed.retried(line, &[])?;
    expect_code(&started, 0)?;
    ensure!(
        started.stdout.trim_ascii().len() == 12,
        "{}",
        describe(&started)
    );
    let follower = spawn(Command::new(&bed.msb).args(["logs", "-f", NAME]))?;
    expect_code(&exec(bed, &[], &["touch", "/go"]).output()?, 0)?;
    let waited = Command::new(&bed.msb).args(["wait", NAME]).output()?;
    expect_code(&waited, 4)?;
    ensure!(waited.stdout == b"4\n", "{}", describe(&waited));
    let followed = finish(follower, &[])?;
    let kept = Command::new(&bed.msb).args(["logs", NAME]).output()?;
    for output in [followed, kept] {
        expect_code(&output, 0)?;
        ensure!(
            output.stdout == b"out\nend" && output.stderr == b"err\n",
            "{}",
            describe(&output)
        );
    }
    not_running(bed)?;
    remove(bed, NAME)?;
    let line = || {
        let _ = remove(bed, NAME);
        bed.run_command(&["-d", "--name", NAME], &["no-such-program"])
    };
    expect_code(&bed.retried(line, &[])?, 127)?;
    remove(bed, NAME)
}

fn exec(bed: &Bed, options: &[&str], command: &[&str]) -> Command {
    let mut line = Command::new(&bed.msb);
    line.arg("exec").args(options).arg(NAME).args(command);
    line
}

/// What `msb run -e -w -u` said holds for later commands, and gives way to what is said then.
fn inherits(bed: &Bed) -> Result<()> {
    let script = "echo $A $B $(pwd) $(id -u)";
    for (options, expected) in [
        (&[][..], "1 /srv 65534\n"),
        (
            &["-e", "A=2", "-e", "B=3", "-w", "/tmp", "-u", "0"][..],
            "2 3 /tmp 0\n",
        ),
    ] {
        let output = exec(bed, options, &["sh", "-c", script]).output()?;
        expect_code(&output, 0)?;
        ensure!(
            output.stdout == expected.as_bytes(),
            "expected {expected:?}, got {}",
            describe(&output)
        );
    }
    Ok(())
}

fn streams(bed: &Bed) -> Result<()> {
    let mut line = exec(
        bed,
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
    expect_code(&exec(bed, &[], &["no-such-program"]).output()?, 127)?;
    expect_code(&exec(bed, &[], &["/etc"]).output()?, 126)
}

fn at_once(bed: &Bed) -> Result<()> {
    let children = (0..20)
        .map(|number| {
            spawn(&mut exec(
                bed,
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

fn time_is_up(bed: &Bed) -> Result<()> {
    let output = exec(bed, &["--timeout", "1"], &["sleep", "600"]).output()?;
    expect_code(&output, 124)?;
    // It is gone from the guest too.
    let left = exec(bed, &["-u", "0"], &["sh", "-c", LOOK_FOR_SLEEP]).output()?;
    expect_code(&left, 0)
}

/// No process `sleep 600`; looked for a few times, because the host need not wait for its end.
const LOOK_FOR_SLEEP: &str = "for try in 1 2 3 4 5 6 7 8 9 10; do \
    grep -qsaz '^600$' /proc/[0-9]*/cmdline || exit 0; sleep 0.3; done; exit 1";

/// A signal reaches a command that does not read what is sent to it.
fn signal_past_input(bed: &Bed) -> Result<()> {
    let mut line = exec(bed, &["-i"], &["sh", "-c", "echo up; exec sleep 600"]);
    let mut child = spawn(&mut line)?;
    let mut stdin = child.stdin.take().context("no pipe to standard input")?;
    // Until msb has read so much that nothing goes on; then the pipe's end closes with the child.
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

fn not_running(bed: &Bed) -> Result<()> {
    for line in [
        &["exec", NAME, "true"][..],
        &["stop", NAME],
        &["kill", NAME],
    ] {
        let output = Command::new(&bed.msb).args(line).output()?;
        expect_code(&output, 125)?;
        ensure!(
            describe(&output).contains("is not running"),
            "{}",
            describe(&output)
        );
    }
    Ok(())
}

/// A sandbox whose first command waits.
fn living(bed: &Bed) -> Result<Speaking> {
    bed.speaking("up", || {
        remove(bed, NAME)?;
        let options = ["--name", NAME, "-e", "A=1", "-w", "/srv", "-u", "65534"];
        Ok(bed.run_command(&options, &["sh", "-c", SCRIPT]))
    })
}
