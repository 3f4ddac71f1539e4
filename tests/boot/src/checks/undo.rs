//! Commands with a snapshot before them, undone, also those that changed a staged directory.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use test_support::{TestEnv, expect_code, schema};

use super::durability::remove;
use super::host_directory::HostDirectory;
use super::snapshots::told;

const NAME: &str = "checks-undo";
const FORK: &str = "checks-undo-fork";
/// The number of commands that have a snapshot each.
const COMMANDS: usize = 6;
/// A command that changes the staged directory, and its changes.
const EDITS: &str =
    "cd /work && rm -r docs && mv main.c moved.c && echo x > new && chmod 755 run.sh";
const EDITED: &str = "\
D /work/docs
D /work/main.c
A /work/moved.c
A /work/new
C /work/run.sh
";

/// Checks that commands are undone while the sandbox runs, one after the other, jobs among them; that an undo is
/// taken back; that exit codes are kept; and that what cannot be undone is refused and changes nothing.
pub(super) fn of_running(env: &TestEnv) -> Result<()> {
    let host = HostDirectory::new(env)?;
    make(&host)?;
    let mount = format!("{}:/work:staged", host.path("project"));
    let _ = remove(env, NAME);
    let start = || {
        let options = [
            "-d",
            "--name",
            NAME,
            "--undo-limit",
            "5",
            "--upper-size",
            "256M",
            "-v",
            &mount,
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

    of_staged(env, &host)?;
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

/// Makes the project that is staged.
fn make(host: &HostDirectory) -> Result<()> {
    let project = host.0.join("project");
    fs::create_dir_all(project.join("docs"))?;
    for name in ["docs/one", "main.c", "run.sh", ".env"] {
        fs::write(project.join(name), format!("{name}\n"))?;
    }
    let mode = fs::Permissions::from_mode(0o644);
    Ok(fs::set_permissions(project.join("run.sh"), mode)?)
}

/// Checks that an undo takes changes of a staged directory back, and a file that was let in after the snapshot; that
/// they are counted; and that the host's files stay.
fn of_staged(env: &TestEnv, host: &HostDirectory) -> Result<()> {
    let before = host.dump("project")?;
    exec(env, EDITS, 0)?;
    ensure!(diff(env)? == EDITED, "{}", diff(env)?);
    counted(env)?;
    let kept = told(env, &["undo", NAME])?;
    ensure!(diff(env)?.is_empty(), "{}", diff(env)?);
    let script = "cd /work && cat main.c docs/one && stat -c %a run.sh && ls -A";
    let seen = told(env, &["exec", NAME, "sh", "-c", script])?;
    let begun = "main.c\ndocs/one\n644\ndocs\nmain.c\nrun.sh\n";
    ensure!(seen == begun, "{seen}");
    told(env, &["rollback", kept.trim()])?;
    ensure!(diff(env)? == EDITED, "{}", diff(env)?);
    told(env, &["undo", NAME])?;

    exec(env, "echo mine > /work/mine", 0)?;
    let_in(env)?;
    ensure!(diff(env)? == "A /work/mine\n", "{}", diff(env)?);
    told(env, &["undo", NAME])?;
    ensure!(diff(env)?.is_empty(), "{}", diff(env)?);
    let seen = told(env, &["exec", NAME, "sh", "-c", script])?;
    ensure!(seen == begun, "{seen}");
    let_in(env)?;
    let seen = told(env, &["exec", NAME, "cat", "/work/.env"])?;
    ensure!(seen == ".env\n", "{seen}");
    ensure!(
        before == host.dump("project")?,
        "the host's files were changed"
    );
    Ok(())
}

/// Checks the numbers of the last command's changes.
fn counted(env: &TestEnv) -> Result<()> {
    let words = ["history", "--changes", "-n", "1"];
    let json = told(env, &[&words[..], &["--format", "json", NAME]].concat())?;
    schema::judge("commands", &json)?;
    let commands: Vec<serde_json::Value> = serde_json::from_str(&json)?;
    let changes = &commands.first().context("no command")?["changes"];
    let expected = json!({"added": 2, "changed": 1, "deleted": 2});
    ensure!(*changes == expected, "{changes}");
    let table = told(env, &[&words[..], &[NAME]].concat())?;
    ensure!(table.contains(" A2 C1 D2 "), "{table}");
    Ok(())
}

/// Lets the hidden file in.
fn let_in(env: &TestEnv) -> Result<()> {
    let printed = told(env, &["allow", NAME, "/work/.env"])?;
    ensure!(printed == "/work/.env\n", "{printed}");
    Ok(())
}

fn diff(env: &TestEnv) -> Result<String> {
    told(env, &["diff", NAME, "--", "/work"])
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
