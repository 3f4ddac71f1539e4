use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::bed::{Bed, describe, expect_code, spawn};
use super::durability::remove;

const NAME: &str = "checks-kept";
const RENAMED: &str = "checks-renamed";
/// Says so, goes on until it is told, and says so.
const UNTIL_TOLD: &str = "echo up; until test -e /go; do sleep 0.1; done; echo end; exit 6";

/// `kill -9` of `msb run` takes nothing with it.
pub(super) fn without_its_user(bed: &Bed) -> Result<()> {
    let mut speaking = bed.speaking("up", || {
        remove(bed, NAME)?;
        Ok(bed.run_command(&["--name", NAME], &["sh", "-c", UNTIL_TOLD]))
    })?;
    speaking.child.kill()?;
    speaking.child.wait()?;
    ensure!(state(bed)? == "running", "it went with its user");
    said(&msb(bed, &["exec", NAME, "touch", "/go"])?, 0, "")?;
    said(&msb(bed, &["wait", NAME])?, 6, "6\n")?;
    said(&msb(bed, &["logs", NAME])?, 0, "up\nend\n")?;
    remove(bed, NAME)
}

/// Created, started with somebody attached, renamed, started alone, restarted, attached to, removed.
pub(super) fn from_create_to_rm(bed: &Bed) -> Result<()> {
    remove(bed, NAME)?;
    remove(bed, RENAMED)?;
    let script = "read line; echo got $line $(hostname); exec sleep 600";
    let options = ["--name", NAME, "-i", "--label", "check=1"];
    let memory = format!("{}M", bed.memory_mib);
    let mut create = Command::new(&bed.msb);
    create.args([
        "create", "--cpus", "1", "--pull", "never", "--memory", &memory,
    ]);
    create.args(options).args([&bed.image, "sh", "-c", script]);
    expect_code(&create.output()?, 0)?;
    let created = listed(bed, &["--filter", "label=check"])?;
    ensure!(
        created.len() == 1 && created[0]["state"] == "created",
        "{created:?}"
    );
    said(&msb(bed, &["rename", NAME, RENAMED])?, 0, "")?;
    started(bed, "start")?;
    let mut attached = spawn(Command::new(&bed.msb).args(["attach", RENAMED]))?;
    let mut stdin = attached.stdin.take().context("no pipe")?;
    std::io::Write::write_all(&mut stdin, b"hello\n")?;
    let mut line = String::new();
    let stdout = attached.stdout.take().context("no pipe")?;
    BufReader::new(stdout).read_line(&mut line)?;
    ensure!(line == format!("got hello {RENAMED}\n"), "{line:?}");
    attached.kill()?;
    attached.wait()?;
    let again = msb(bed, &["start", RENAMED])?;
    ensure!(
        describe(&again).contains("is running"),
        "{}",
        describe(&again)
    );
    started(bed, "restart")?;
    let refused = msb(bed, &["rm", RENAMED])?;
    ensure!(
        describe(&refused).contains("is running"),
        "{}",
        describe(&refused)
    );
    said(
        &msb(bed, &["rm", "-f", RENAMED])?,
        0,
        &format!("{RENAMED}\n"),
    )?;
    let left = listed(bed, &["--filter", "label=check"])?;
    ensure!(left.is_empty(), "{left:?}");
    Ok(())
}

/// A sandbox for commands alone, which ends when nobody wants it; jobs outlive who started them.
pub(super) fn jobs_and_idleness(bed: &Bed) -> Result<()> {
    let line = || {
        let _ = remove(bed, NAME);
        bed.run_command(
            &["--no-command", "--name", NAME, "--idle-timeout", "3s"],
            &[],
        )
    };
    expect_code(&bed.retried(line, &[])?, 0)?;
    let script = "echo out; sleep 1; echo err >&2; exit 4";
    said(
        &msb(bed, &["exec", "-d", NAME, "sh", "-c", script])?,
        0,
        "1\n",
    )?;
    said(&msb(bed, &["exec", "-d", NAME, "sleep", "5"])?, 0, "2\n")?;
    let unknown = msb(bed, &["exec", "-d", NAME, "no-such-program"])?;
    ensure!(
        describe(&unknown).contains("no-such-program"),
        "{}",
        describe(&unknown)
    );
    said(&msb(bed, &["wait", "--job", "1", NAME])?, 4, "4\n")?;
    let logs = msb(bed, &["logs", "-f", "--job", "1", NAME])?;
    said(&logs, 0, "out\n")?;
    ensure!(logs.stderr == b"err\n", "{}", describe(&logs));
    said(
        &msb(bed, &["exec", "-d", NAME, "sh", "-c", "sleep 600 & wait"])?,
        0,
        "4\n",
    )?;
    let listed = msb(bed, &["jobs", "--format", "json", NAME])?;
    let listed: Value = serde_json::from_slice(&listed.stdout)?;
    let pid = listed[2]["pid"]
        .as_u64()
        .context("the job has no process id")?;
    let alive = format!("kill -0 {pid}");
    said(&msb(bed, &["exec", NAME, "sh", "-c", &alive])?, 0, "")?;
    said(
        &msb(bed, &["kill", "--job", "4", NAME])?,
        0,
        &format!("{NAME}\n"),
    )?;
    said(&msb(bed, &["wait", "--job", "4", NAME])?, 137, "137\n")?;
    expect_code(&msb(bed, &["kill", "--job", "4", NAME])?, 125)?;
    // The second job keeps it for longer than nobody would.
    said(&msb(bed, &["wait", "--job", "2", NAME])?, 0, "0\n")?;
    for _ in 0..300 {
        if state(bed)? == "stopped" {
            return remove(bed, NAME);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("nobody wants it and it goes on")
}

/// A command that fails is started again, in the machine that runs, until that is enough.
pub(super) fn started_again(bed: &Bed) -> Result<()> {
    let script = "echo x >> /count; exit $(wc -l < /count)";
    let line = || {
        let _ = remove(bed, NAME);
        bed.run_command(
            &["-d", "--name", NAME, "--restart", "on-failure:2"],
            &["sh", "-c", script],
        )
    };
    expect_code(&bed.retried(line, &[])?, 0)?;
    said(&msb(bed, &["wait", NAME])?, 3, "3\n")?;
    remove(bed, NAME)?;
    let line = || {
        let _ = remove(bed, NAME);
        let options = [
            "-d",
            "--name",
            NAME,
            "--max-duration",
            "4s",
            "--restart",
            "always",
        ];
        bed.run_command(&options, &["sleep", "600"])
    };
    expect_code(&bed.retried(line, &[])?, 0)?;
    said(&msb(bed, &["wait", NAME])?, 128 + 15, "143\n")?;
    remove(bed, NAME)
}

fn started(bed: &Bed, subcommand: &str) -> Result<()> {
    let line = || {
        let mut line = bed.machine_command(subcommand);
        line.arg(RENAMED);
        line
    };
    said(&bed.retried(line, &[])?, 0, &format!("{RENAMED}\n"))
}

fn msb(bed: &Bed, arguments: &[&str]) -> Result<Output> {
    Ok(Command::new(&bed.msb).args(arguments).output()?)
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

fn listed(bed: &Bed, options: &[&str]) -> Result<Vec<Value>> {
    let mut arguments = vec!["ls", "--format", "json"];
    arguments.extend(options);
    Ok(serde_json::from_slice(&msb(bed, &arguments)?.stdout)?)
}

fn state(bed: &Bed) -> Result<String> {
    let rows = listed(bed, &["--filter", &format!("name={NAME}")])?;
    let row = rows.first().context("it is not listed")?;
    Ok(row["state"].as_str().unwrap_or_default().to_owned())
}
