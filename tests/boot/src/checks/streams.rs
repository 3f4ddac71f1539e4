use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use test_support::{Speaking, TestEnv, describe, expect_code, finish, inherit_variables};

const UNREAD: &str = "checks-unread";

pub(super) fn apart(env: &TestEnv) -> Result<()> {
    let output = env.run(&["-q"], &["sh", "-c", "echo out; echo err >&2"])?;
    expect_code(&output, 0)?;
    ensure!(
        output.stdout == b"out\n" && output.stderr == b"err\n",
        "{}",
        describe(&output)
    );
    Ok(())
}

/// Returns bytes of every value, in an order that neither compresses nor repeats.
fn noise(length_bytes: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut bytes = Vec::with_capacity(length_bytes + 8);
    while bytes.len() < length_bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length_bytes);
    bytes
}

pub(super) fn stdin(env: &TestEnv) -> Result<()> {
    let sent = noise(3_000_001);
    let output = env.run_with_input(&["-i"], &["cat"], &sent)?;
    expect_code(&output, 0)?;
    ensure!(
        output.stdout == sent,
        "{} of {} bytes came back, or others",
        output.stdout.len(),
        sent.len()
    );
    Ok(())
}

pub(super) fn large_output(env: &TestEnv) -> Result<()> {
    let script = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done";
    let output = env.run(&[], &["sh", "-c", script])?;
    expect_code(&output, 0)?;
    let expected: String = (0..20_000).map(|line| format!("line {line}\n")).collect();
    ensure!(
        output.stdout == expected.as_bytes(),
        "{} bytes came",
        output.stdout.len()
    );
    Ok(())
}

pub(super) fn no_stdin(env: &TestEnv) -> Result<()> {
    let output = env.run_with_input(&[], &["wc", "-c"], b"not for the guest")?;
    ensure!(output.stdout.trim_ascii() == b"0", "{}", describe(&output));
    Ok(())
}

/// Checks a terminal: `script` gives msb one, as a user's shell would.
pub(super) fn terminal(env: &TestEnv) -> Result<()> {
    let words = env.run_command(
        &["--rm", "-it"],
        &["sh", "-c", "tty; stty size; echo typed $(head -n 1)"],
    );
    let line: Vec<String> = std::iter::once(words.get_program())
        .chain(words.get_args())
        .map(|word| format!("'{}'", word.to_string_lossy()))
        .collect();
    let line = format!("stty rows 33 cols 99; exec {}", line.join(" "));
    let script = || {
        let mut script = Command::new("script");
        script
            .args(["-qefc", &line, "/dev/null"])
            .env("SHELL", "/bin/sh");
        inherit_variables(&mut script, &words);
        script
    };
    let output = env.retried(script, b"hello\n")?;
    let seen = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{}", describe(&output));
    for part in ["/dev/pts/", "33 99", "typed hello"] {
        ensure!(seen.contains(part), "no '{part}' in {seen:?}");
    }
    Ok(())
}

/// Checks that `msb run ... | head -1` ends with `head`, and the sandbox with it.
pub(super) fn unread(env: &TestEnv) -> Result<()> {
    let script = "echo first; while :; do echo more; sleep 0.2; done";
    let line = || Ok(env.run_command(&["--rm", "--name", UNREAD], &["sh", "-c", script]));
    let Speaking { mut child, stdout } = env.speaking("first", line)?;
    drop(stdout);
    for _ in 0..600 {
        if child.try_wait()?.is_some() {
            let ended = finish(child, &[])?;
            ensure!(ended.stderr.is_empty(), "{}", describe(&ended));
            return expect_code(&ended, 141);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill()?;
    bail!("it goes on though nobody reads what it prints")
}

/// Checks that a fourth interrupt kills a command that ignores it, as the third announces.
pub(super) fn impatience(env: &TestEnv) -> Result<()> {
    let script = "trap '' INT; echo ready; while :; do sleep 1; done";
    let line = || Ok(env.run_command(&["--rm"], &["sh", "-c", script]));
    let mut speaking = env.speaking("ready", line)?;
    let deadline = Instant::now() + Duration::from_secs(60);
    // Signals that come together count as one, and a busy host may deliver several together.
    while speaking.child.try_wait()?.is_none() {
        ensure!(Instant::now() < deadline, "the command is not killed");
        std::thread::sleep(Duration::from_millis(500));
        Command::new("kill")
            .args(["-INT", &speaking.child.id().to_string()])
            .status()?;
    }
    let ended = speaking.end()?;
    ensure!(
        ended.stderr == b"msb: the command is still running; one more signal kills it\n",
        "{}",
        describe(&ended)
    );
    expect_code(&ended, 137)
}

pub(super) fn signals(env: &TestEnv) -> Result<()> {
    let script = "trap 'echo caught; exit 7' TERM; echo ready; sleep 60 & wait";
    let line = || Ok(env.run_command(&["--rm"], &["sh", "-c", script]));
    let speaking = env.speaking("ready", line)?;
    std::thread::sleep(Duration::from_millis(200));
    Command::new("kill")
        .args(["-TERM", &speaking.child.id().to_string()])
        .status()?;
    let ended = speaking.end()?;
    ensure!(ended.stdout == b"caught\n", "{}", describe(&ended));
    expect_code(&ended, 7)
}
