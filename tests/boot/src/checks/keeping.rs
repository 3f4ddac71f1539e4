use std::io::{BufRead as _, BufReader};
use std::process::Output;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::durability::remove;
use test_support::{TestEnv, describe, expect_code, spawn};

const NAME: &str = "checks-kept";
const RENAMED: &str = "checks-renamed";
/// Prints that it runs, continues until a file exists, and prints that it ends.
const UNTIL_TOLD: &str = "echo up; until test -e /go; do sleep 0.1; done; echo end; exit 6";

/// Checks that the sandbox continues after `kill -9` of `msb run`.
pub(super) fn without_its_user(env: &TestEnv) -> Result<()> {
    let mut speaking = env.speaking("up", || {
        remove(env, NAME)?;
        Ok(env.run_command(&["--name", NAME], &["sh", "-c", UNTIL_TOLD]))
    })?;
    speaking.child.kill()?;
    speaking.child.wait()?;
    ensure!(state(env)? == "running", "it went with its user");
    said(&msb(env, &["exec", NAME, "touch", "/go"])?, 0, "")?;
    said(&msb(env, &["wait", NAME])?, 6, "6\n")?;
    said(&msb(env, &["logs", NAME])?, 0, "up\nend\n")?;
    remove(env, NAME)
}

/// Checks a sandbox from `create` to `rm`: started with and without a client, renamed, restarted.
pub(super) fn from_create_to_rm(env: &TestEnv) -> Result<()> {
    remove(env, NAME)?;
    remove(env, RENAMED)?;
    let script = "read line; echo got $line $(hostname); exec sleep 600";
    let options = ["--name", NAME, "-i", "--label", "check=1"];
    let memory = format!("{}M", env.memory_mib());
    let mut create = env.msb();
    create.args([
        "create", "--cpus", "1", "--pull", "never", "--memory", &memory,
    ]);
    create.args(options).args([env.image(), "sh", "-c", script]);
    expect_code(&create.output()?, 0)?;
    let created = listed(env, &["--filter", "label=check"])?;
    ensure!(
        created.len() == 1 && created[0]["state"] == "created",
        "{created:?}"
    );
    said(&msb(env, &["rename", NAME, RENAMED])?, 0, "")?;
    started(env, "start")?;
    let mut attached = spawn(env.msb().args(["attach", RENAMED]))?;
    let mut stdin = attached.stdin.take().context("no pipe")?;
    std::io::Write::write_all(&mut stdin, b"hello\n")?;
    let mut line = String::new();
    let stdout = attached.stdout.take().context("no pipe")?;
    BufReader::new(stdout).read_line(&mut line)?;
    ensure!(line == format!("got hello {RENAMED}\n"), "{line:?}");
    attached.kill()?;
    attached.wait()?;
    let again = msb(env, &["start", RENAMED])?;
    ensure!(
        describe(&again).contains("is running"),
        "{}",
        describe(&again)
    );
    started(env, "restart")?;
    let refused = msb(env, &["rm", RENAMED])?;
    ensure!(
        describe(&refused).contains("is running"),
        "{}",
        describe(&refused)
    );
    said(
        &msb(env, &["rm", "-f", RENAMED])?,
        0,
        &format!("{RENAMED}\n"),
    )?;
    let left = listed(env, &["--filter", "label=check"])?;
    ensure!(left.is_empty(), "{left:?}");
    Ok(())
}

/// Checks a sandbox without a main command, which ends when it is idle, and its jobs. A job
/// outlives the client that started it.
pub(super) fn jobs_and_idleness(env: &TestEnv) -> Result<()> {
    let line = || {
        let _ = remove(env, NAME);
        env.run_command(
            &["--no-command", "--name", NAME, "--idle-timeout", "8s"],
            &[],
        )
    };
    expect_code(&env.retried(line, &[])?, 0)?;
    let script = "echo out; sleep 1; echo err >&2; exit 4";
    said(
        &msb(env, &["exec", "-d", NAME, "sh", "-c", script])?,
        0,
        "1\n",
    )?;
    said(&msb(env, &["exec", "-d", NAME, "sleep", "12"])?, 0, "2\n")?;
    let unknown = msb(env, &["exec", "-d", NAME, "no-such-program"])?;
    ensure!(
        describe(&unknown).contains("no-such-program"),
        "{}",
        describe(&unknown)
    );
    said(&msb(env, &["wait", "--job", "1", NAME])?, 4, "4\n")?;
    let logs = msb(env, &["logs", "-f", "--job", "1", NAME])?;
    said(&logs, 0, "out\n")?;
    ensure!(logs.stderr == b"err\n", "{}", describe(&logs));
    said(
        &msb(env, &["exec", "-d", NAME, "sh", "-c", "sleep 600 & wait"])?,
        0,
        "4\n",
    )?;
    let listed = msb(env, &["jobs", "--format", "json", NAME])?;
    let listed: Value = serde_json::from_slice(&listed.stdout)?;
    let pid = listed[2]["pid"]
        .as_u64()
        .context("the job has no process id")?;
    let alive = format!("kill -0 {pid}");
    said(&msb(env, &["exec", NAME, "sh", "-c", &alive])?, 0, "")?;
    said(
        &msb(env, &["kill", "--job", "4", NAME])?,
        0,
        &format!("{NAME}\n"),
    )?;
    said(&msb(env, &["wait", "--job", "4", NAME])?, 137, "137\n")?;
    expect_code(&msb(env, &["kill", "--job", "4", NAME])?, 125)?;
    // The second job keeps the sandbox running for longer than the idle timeout.
    said(&msb(env, &["wait", "--job", "2", NAME])?, 0, "0\n")?;
    for _ in 0..600 {
        if state(env)? == "stopped" {
            ended_by(env, "idle-timeout")?;
            return remove(env, NAME);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("nobody wants it and it goes on")
}

/// Checks that a listing names the limit that has ended the sandbox.
fn ended_by(env: &TestEnv, limit: &str) -> Result<()> {
    let rows = listed(env, &["--filter", &format!("name={NAME}")])?;
    let exit = &rows.first().context("it is not listed")?["exit"];
    ensure!(exit["code"] == 124 && exit["reason"] == limit, "{exit}");
    let table = String::from_utf8(msb(env, &["ps", "-a"])?.stdout)?;
    ensure!(table.contains(&format!(": {limit}")), "{table}");
    Ok(())
}

/// Checks that a failed command is restarted in the running machine up to the limit.
pub(super) fn started_again(env: &TestEnv) -> Result<()> {
    let script = "echo x >> /count; exit $(wc -l < /count)";
    let line = || {
        let _ = remove(env, NAME);
        env.run_command(
            &["-d", "--name", NAME, "--restart", "on-failure:2"],
            &["sh", "-c", script],
        )
    };
    expect_code(&env.retried(line, &[])?, 0)?;
    said(&msb(env, &["wait", NAME])?, 3, "3\n")?;
    remove(env, NAME)?;
    let line = || {
        let _ = remove(env, NAME);
        let options = [
            "-d",
            "--name",
            NAME,
            "--max-duration",
            "4s",
            "--restart",
            "always",
        ];
        env.run_command(&options, &["sleep", "600"])
    };
    expect_code(&env.retried(line, &[])?, 0)?;
    said(&msb(env, &["wait", NAME])?, 124, "124\n")?;
    ended_by(env, "max-duration")?;
    remove(env, NAME)?;
    // An attached client sees the limit, whatever code the command exits with after its signal.
    let script = "trap 'exit 3' TERM; while :; do sleep 0.1; done";
    let output = env.run(&["--max-duration", "2s"], &["sh", "-c", script])?;
    expect_code(&output, 124)?;
    ensure!(
        String::from_utf8_lossy(&output.stderr).contains("stopped: --max-duration 2s has elapsed"),
        "{}",
        describe(&output)
    );
    Ok(())
}

fn started(env: &TestEnv, subcommand: &str) -> Result<()> {
    let line = || {
        let mut line = env.machine_command(subcommand);
        line.arg(RENAMED);
        line
    };
    said(&env.retried(line, &[])?, 0, &format!("{RENAMED}\n"))
}

fn msb(env: &TestEnv, arguments: &[&str]) -> Result<Output> {
    Ok(env.msb().args(arguments).output()?)
}

fn said(output: &Output, code: i32, stdout: &str) -> Result<()> {
    expect_code(output, code)?;
    ensure!(
        output.stdout == stdout.as_bytes(),
        "expected {stdout:?}, got {}",
        describe(output)
    );
    Ok(())
}

fn listed(env: &TestEnv, options: &[&str]) -> Result<Vec<Value>> {
    let mut arguments = vec!["ls", "--format", "json"];
    arguments.extend(options);
    Ok(serde_json::from_slice(&msb(env, &arguments)?.stdout)?)
}

fn state(env: &TestEnv) -> Result<String> {
    let rows = listed(env, &["--filter", &format!("name={NAME}")])?;
    let row = rows.first().context("it is not listed")?;
    Ok(row["state"].as_str().unwrap_or_default().to_owned())
}
