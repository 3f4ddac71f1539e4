//! The owners of a command's streams, which programs open anew by `/dev/stdout` and `/proc/self/fd`.

use std::process::{Command, Output};

use anyhow::{Result, ensure};
use test_support::{TestEnv, describe, expect_code, inherit_variables};

use super::durability::remove;

const STREAMS: &str = "checks-stream-owners";

/// Opens the streams anew by each of their names, as programs do that log to `/dev/stderr`.
const BY_NAME: &str = "set -e; echo out > /dev/stdout; echo err > /dev/stderr; \
    echo again > /proc/self/fd/1; cat /dev/stdin; stat -L -c %u /proc/self/fd/2; \
    test -c /dev/null; stat -c '%u %a' /dev/null";
const OUT: &str = "out\nagain\ntyped\n1234\n0 666\n";

/// Checks that a command's streams belong to its user, however it was started.
pub(super) fn streams(env: &TestEnv) -> Result<()> {
    let command = ["sh", "-c", BY_NAME];
    let output = env.run_with_input(&["-i", "-u", "1234"], &command, b"typed\n")?;
    spoken(&output)?;
    let start = || {
        let _ = remove(env, STREAMS);
        let script = "echo out > /dev/stdout; echo err > /dev/stderr; exec sleep 1000";
        let options = ["-d", "-u", "1234", "--name", STREAMS];
        env.run_command(&options, &["sh", "-c", script])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    let script = format!("echo typed | sh -c {}", quoted(BY_NAME));
    let words = ["exec", "-u", "1234", STREAMS, "sh", "-c", &script];
    spoken(&env.msb().args(words).output()?)?;
    let logs = env.msb().args(["logs", STREAMS]).output()?;
    ensure!(
        logs.stdout == b"out\n" && logs.stderr == b"err\n",
        "{}",
        describe(&logs)
    );
    terminal(env)?;
    expect_code(&env.msb().args(["stop", "-t", "0", STREAMS]).output()?, 0)?;
    remove(env, STREAMS)
}

fn spoken(output: &Output) -> Result<()> {
    expect_code(output, 0)?;
    ensure!(
        output.stdout == OUT.as_bytes() && output.stderr == b"err\n",
        "{}",
        describe(output)
    );
    Ok(())
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Checks that a terminal belongs to the user, the group tty and has docker's mode.
fn terminal(env: &TestEnv) -> Result<()> {
    let mut words = env.msb();
    let script = "stat -L -c '%u %g %a' /proc/self/fd/0; echo opened > $(tty)";
    words.args(["exec", "-it", "-u", "1234", STREAMS, "sh", "-c", script]);
    let line: Vec<String> = std::iter::once(words.get_program())
        .chain(words.get_args())
        .map(|word| quoted(&word.to_string_lossy()))
        .collect();
    let mut script = Command::new("script");
    script
        .args(["-qefc", &line.join(" "), "/dev/null"])
        .env("SHELL", "/bin/sh");
    inherit_variables(&mut script, &words);
    let output = script.output()?;
    let seen = String::from_utf8_lossy(&output.stdout);
    ensure!(
        seen.contains("1234 5 620") && seen.contains("opened"),
        "{}",
        describe(&output)
    );
    Ok(())
}
