//! Snapshots of a sandbox that several programs have written to, and rollbacks to them.

use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use test_support::{TestEnv, expect_code, finish, schema, spawn, upper_disk};

use super::disks::directory;
use super::durability::{check_upper, kill_machine, remove};

const NAME: &str = "checks-snapshots";
const WRITE: &str = include_str!("snapshots.sh");
/// Prints each file with its metadata and its digest, and what sqlite finds.
const LOOK: &str = "set -e; cd /; find srv etc/apt -printf '%p %y %m %n %s %l %T@\\n' | sort; \
    find srv etc/apt -type f -print0 | sort -z | xargs -0 sha256sum; ls -d etc/*; \
    python3 -c \"import sqlite3; print(sqlite3.connect('file:/srv/database?mode=ro&immutable=1', \
    uri=True).execute('PRAGMA integrity_check').fetchall())\"";
/// Changes, removes and replaces all of it.
const CHANGE: &str = "set -e; cd /srv; rm -r tree sparse pipe; mv punched direct; echo more >> mapped; \
    fallocate -p -l 1M direct; python3 -c \"import sqlite3; \
    sqlite3.connect('database', isolation_level=None).execute('DELETE FROM rows')\"; \
    rm archive.tar; touch /etc/issue; rm -r /etc/apt/apt.conf.d; cp -a /usr/lib/python3.11/json json; sync";

/// Checks that a rollback brings back what several programs wrote, as the guest and `e2fsck` see it,
/// that later writes change no snapshot, and that a killed machine's snapshot has what was synced.
pub(super) fn rolled_back(env: &TestEnv) -> Result<()> {
    let start = || {
        // A start without an answer leaves its sandbox.
        let _ = remove(env, NAME);
        let own = ["-d", "--name", NAME, "--network", "none"];
        let size = ["--upper-size", "256M"];
        env.run_command(&[&own[..], &size].concat(), &["sleep", "1000"])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    guest(env, WRITE)?;
    let written = guest(env, LOOK)?;
    stop(env)?;
    told(env, &["snapshot", "create", &at("written")])?;
    told(env, &["snapshot", "verify", &at("written")])?;
    restart(env)?;
    guest(env, CHANGE)?;
    let changed = guest(env, LOOK)?;
    ensure!(changed != written, "nothing was changed");
    stop(env)?;
    expect_clean(env)?;
    let kept = told(env, &["rollback", &at("written")])?;
    ensure!(kept == format!("{NAME}@2\n"), "{kept}");
    expect_clean(env)?;
    expect_intact(env)?;
    restart(env)?;
    expect_same(&written, &guest(env, LOOK)?)?;
    guest(
        env,
        "echo synced > /srv/synced; sync; echo lost > /srv/direct",
    )?;
    kill_machine(&directory(env, NAME)?)?;
    told(env, &["snapshot", "create", &at("killed")])?;
    told(env, &["rollback", &at("2")])?;
    restart(env)?;
    expect_same(&changed, &guest(env, LOOK)?)?;
    stop(env)?;
    told(env, &["rollback", &at("killed")])?;
    restart(env)?;
    ensure!(
        guest(env, "cat /srv/synced")? == "synced\n",
        "what was synced is lost"
    );
    stop(env)?;
    expect_clean(env)?;
    expect_intact(env)?;
    remove(env, NAME)
}

fn at(snapshot: &str) -> String {
    format!("{NAME}@{snapshot}")
}

/// Checks the filesystem on the disk of the stopped sandbox, whose journal is to be empty.
fn expect_clean(env: &TestEnv) -> Result<()> {
    let raw: PathBuf = env.work.join("snapshots.ext4");
    upper_disk::export(&directory(env, NAME)?.join("generations"), &raw)?;
    check_upper(&raw)
}

/// Checks the content of all snapshots.
fn expect_intact(env: &TestEnv) -> Result<()> {
    let document = told(env, &["snapshot", "verify", "--format", "json", NAME])?;
    schema::judge("snapshot-verify", &document)?;
    let written = "\"name\": \"written\",\n    \"content\": \"intact\"";
    ensure!(document.contains(written), "{document}");
    Ok(())
}

fn expect_same(before: &str, after: &str) -> Result<()> {
    let other = before
        .lines()
        .zip(after.lines())
        .find(|(old, new)| old != new);
    ensure!(before == after, "{other:?} differ");
    Ok(())
}

fn restart(env: &TestEnv) -> Result<()> {
    expect_code(&env.retried(|| machine_start(env, NAME), &[])?, 0)
}

/// Returns the command that starts a sandbox.
pub(super) fn machine_start(env: &TestEnv, name: &str) -> Command {
    let mut line = env.machine_command("start");
    line.arg(name);
    line
}

fn stop(env: &TestEnv) -> Result<()> {
    told(env, &["stop", "-t", "0", NAME]).map(drop)
}

/// Runs a script in the guest, and returns its output.
fn guest(env: &TestEnv, script: &str) -> Result<String> {
    let line = spawn(env.msb().args(["exec", "-i", NAME, "sh"]))?;
    let output = finish(line, script.as_bytes())?;
    expect_code(&output, 0)?;
    Ok(text(&output))
}

/// Runs msb, and returns its output.
pub(super) fn told(env: &TestEnv, words: &[&str]) -> Result<String> {
    let output = env.msb().args(words).output()?;
    expect_code(&output, 0).with_context(|| words.join(" "))?;
    Ok(text(&output))
}

/// Returns what was printed, also if names of the image's files in it are not UTF-8.
fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
