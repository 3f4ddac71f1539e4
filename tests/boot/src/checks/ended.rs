use std::process::Output;

use anyhow::{Result, ensure};

use test_support::{Speaking, TestEnv, describe, expect_code};

const NAME: &str = "checks-ended";
/// Prints that it runs, then waits to be ended.
const SCRIPT: &str = "echo up; exec sleep 600";

/// Checks that another command can end a sandbox with --rm whose `msb run` removes it too. Both
/// succeed in any order.
pub(super) fn with_its_run_attached(env: &TestEnv) -> Result<()> {
    for line in [&["stop", "-t", "2"][..], &["rm", "-f"]] {
        let first = attached(env)?;
        let ended = msb(env, line)?;
        expect_code(&ended, 0)?;
        ensure!(
            ended.stdout == format!("{NAME}\n").as_bytes() && ended.stderr.is_empty(),
            "{}",
            describe(&ended)
        );
        let first = first.end()?;
        ensure!(!first.status.success(), "{}", describe(&first));
        ensure!(
            !describe(&first).contains("is running"),
            "{}",
            describe(&first)
        );
        let listed = env.msb().args(["ls", "-q"]).output()?;
        ensure!(listed.stdout.is_empty(), "{}", describe(&listed));
    }
    gone(env)
}

/// Checks that only `rm -f` accepts a sandbox that does not exist.
fn gone(env: &TestEnv) -> Result<()> {
    for (line, code) in [(&["rm", "-f"][..], 0), (&["rm"], 125), (&["stop"], 125)] {
        let output = msb(env, line)?;
        expect_code(&output, code)?;
        ensure!(
            output.stdout.is_empty() && describe(&output).contains("no such sandbox"),
            "{}",
            describe(&output)
        );
    }
    Ok(())
}

fn attached(env: &TestEnv) -> Result<Speaking> {
    env.speaking("up", || {
        Ok(env.run_command(&["--rm", "--name", NAME], &["sh", "-c", SCRIPT]))
    })
}

fn msb(env: &TestEnv, line: &[&str]) -> Result<Output> {
    Ok(env.msb().args(line).arg(NAME).output()?)
}
