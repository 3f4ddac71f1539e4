//! Commands with a snapshot before them, undone.

use anyhow::{Context as _, Result, ensure};
use test_support::{TestEnv, expect_code, schema};

use super::durability::remove;
use super::snapshots::told;

const NAME: &str = "checks-undo";
const FORK: &str = "checks-undo-fork";
/// The number of commands that have a snapshot each.
const COMMANDS: usize = 6;

/// Checks that commands are undone while the sandbox runs, one after the other, jobs among them; that an undo is
/// taken back; that exit codes are kept; and that what cannot be undone is refused and changes nothing.
pub(super) fn of_running(env: &TestEnv) -> Result<()> {
    let _ = remove(env, NAME);
    let start = || {
        let options = [
            "-d",
            "--name",
            NAME,
            "--snapshots",
            "--undo-limit",
            "5",
            "--upper-size",
            "256M",
        ];
        env.run_command(&options, &["sleep", "infinity"])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    refused(env, &["undo", NAME], "no command to undo")?;
    exec(env, "echo first > /srv/file", 0)?;
    exec(env, "echo second > /srv/file; exit 3", 3)?;
    told(env, &["exec", NAME, "touch", "/srv/between"])?;
    let words = [
        "exec",
        "-d",
        "--snapshot",
        NAME,
        "sh",
        "-c",
        "rm /srv/file; exit 4",
    ];
    let job = told(env, &words)?;
    let ended = env
        .msb()
        .args(["wait", "--job", job.trim(), NAME])
        .output()?;
    ensure!(String::from_utf8_lossy(&ended.stdout).trim() == "4");
    ensure!(exit_codes(env)? == [Some(0), Some(3), Some(0), Some(4)]);
    refused(env, &["undo", NAME, "4"], "cannot undo 4 commands")?;
    told(env, &["undo", "--dry-run", NAME, "3"])?;
    ensure!(files(env)? == "/srv/between\n");

    let kept = told(env, &["undo", NAME])?;
    ensure!(files(env)? == "/srv/between\n/srv/file\n");
    ensure!(undone(env)?[..4] == [false, false, false, true]);
    told(env, &["undo", NAME])?;
    ensure!(content(env)? == "first\n" && files(env)? == "/srv/file\n");
    // The files before the first undo are there, and so are the commands that made them.
    told(env, &["rollback", kept.trim()])?;
    ensure!(files(env)? == "/srv/between\n");
    ensure!(undone(env)?[..4] == [false; 4]);
    told(env, &["undo", NAME, "2"])?;
    ensure!(content(env)? == "first\n");

    stopped(env)?;
    expired(env)?;
    let fork = told(env, &["fork", NAME, FORK])?;
    ensure!(
        told(env, &["history", "-q", fork.trim()])?.is_empty(),
        "a fork has a history"
    );
    remove(env, FORK)?;
    told(env, &["stop", "-t", "0", NAME])?;
    remove(env, NAME)
}

/// Checks that a stopped sandbox is undone, too, and that a command is refused that has no snapshot.
fn stopped(env: &TestEnv) -> Result<()> {
    exec(env, "echo third > /srv/file", 0)?;
    told(env, &["stop", "-t", "0", NAME])?;
    refused(env, &["exec", "--snapshot", NAME, "true"], "is not running")?;
    told(env, &["undo", NAME])?;
    ensure!(told(env, &["fs", "cat", NAME, "/srv/file"])? == "first\n");
    told(env, &["start", NAME]).map(drop)
}

/// Checks that the snapshots of old commands are removed, and that an undo says so.
fn expired(env: &TestEnv) -> Result<()> {
    told(env, &["snapshot", "create", &format!("{NAME}@mine")])?;
    for number in 0..COMMANDS {
        exec(env, &format!("echo {number} > /srv/file"), 0)?;
    }
    for _ in 0..600 {
        let listed = told(env, &["snapshot", "ls", "-q", NAME])?;
        let of_commands = listed.lines().filter(|line| line.contains("@command-"));
        if of_commands.count() == 5 {
            ensure!(listed.contains("@mine"), "{listed}");
            refused(env, &["undo", NAME, "6"], "was removed")?;
            told(env, &["undo", NAME, "5"])?;
            ensure!(content(env)? == "0\n");
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    anyhow::bail!("the snapshots of old commands stay")
}

/// Runs a command with a snapshot before it.
fn exec(env: &TestEnv, text: &str, code: i32) -> Result<()> {
    let words = ["exec", "--snapshot", NAME, "sh", "-c", text];
    expect_code(&env.msb().args(words).output()?, code)
}

fn refused(env: &TestEnv, words: &[&str], reason: &str) -> Result<()> {
    let output = env.msb().args(words).output()?;
    expect_code(&output, 125)?;
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(
        told.contains(reason) && !told.contains("panicked"),
        "{told}"
    );
    Ok(())
}

fn files(env: &TestEnv) -> Result<String> {
    let list = "ls -d /srv/between /srv/file 2>/dev/null; true";
    told(env, &["exec", NAME, "sh", "-c", list])
}

fn content(env: &TestEnv) -> Result<String> {
    told(env, &["exec", NAME, "cat", "/srv/file"])
}

fn history(env: &TestEnv) -> Result<Vec<serde_json::Value>> {
    let json = told(env, &["history", "--format", "json", NAME])?;
    schema::judge("commands", &json)?;
    serde_json::from_str(&json).with_context(|| json)
}

fn exit_codes(env: &TestEnv) -> Result<Vec<Option<u64>>> {
    let commands = history(env)?;
    Ok(commands
        .iter()
        .map(|one| one["exit_code"].as_u64())
        .collect())
}

fn undone(env: &TestEnv) -> Result<Vec<bool>> {
    let commands = history(env)?;
    Ok(commands.iter().map(|one| one["undone"] == true).collect())
}
