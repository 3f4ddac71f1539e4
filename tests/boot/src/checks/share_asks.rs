//! Accesses to a shared host directory about which the user is asked, and rules that change while it is shared.

use std::fs;
use std::process::{Child, Output};

use anyhow::{Result, ensure};
use test_support::{TestEnv, expect_code, finish, schema, spawn};

use super::asks::{msb, output};
use super::durability::remove;
use super::host_directory::HostDirectory;
use super::listener::Listener;

const NAME: &str = "checks-share-asks";
const RULES: [&str; 4] = [
    ".env=ask",
    "vault=ask",
    "docs=write-ask",
    "/work/sealed=deny",
];

/// Checks questions about shared files, changes of their rules, and the end of questions before a pause. A VMM that
/// serves shares itself refuses such rules, as another check finds.
pub(super) fn answered(env: &TestEnv) -> Result<()> {
    if env.vmm() == "krun" {
        return Ok(());
    }
    let host = HostDirectory::new(env)?;
    for name in [".env", "vault/key", "docs/guide", "sealed/id", "src/main"] {
        let path = host.0.join("project").join(name);
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(path, format!("{name}\n"))?;
    }
    let mount = format!("{}:/work", host.path("project"));
    let start = || {
        let _ = remove(env, NAME);
        let mut options = vec!["-d", "--name", NAME, "--network", "none", "-v", &mount];
        options.extend(RULES.iter().flat_map(|rule| ["--rule", *rule]));
        env.run_command(&options, &["sleep", "1000"])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    unheard(env)?;
    let mut listener = Listener::new(env, NAME)?;
    while_the_share_goes_on(env, &host, &mut listener)?;
    changed_rules(env, &mut listener)?;
    paused(env, &mut listener)?;
    listener.end()?;
    recorded(env)?;
    restarted(env)?;
    output(env, &["rm", "-f", NAME]).map(drop)
}

/// Checks that an access is denied at once if no client listens, and that names and attributes need no answer.
fn unheard(env: &TestEnv) -> Result<()> {
    expect_code(&in_guest(env, "cat /work/.env")?, 1)?;
    let listed = in_guest(
        env,
        "cd /work && ls -A . vault && stat -c %s .env && test -x vault",
    )?;
    expect_code(&listed, 0)?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    ensure!(
        listed.contains("key") && listed.contains("\n5\n"),
        "{listed}"
    );
    Ok(())
}

/// Checks that other processes use the share while one waits, and that an answer holds for one open.
fn while_the_share_goes_on(
    env: &TestEnv,
    host: &HostDirectory,
    listener: &mut Listener,
) -> Result<()> {
    let reading = begin(env, "cat /work/.env")?;
    let id = listener.asked("/work/.env")?;
    let script = "cd /work && cat src/main docs/guide && ls -A vault && echo new > src/new";
    expect_code(&in_guest(env, script)?, 0)?;
    ensure!(fs::read(host.0.join("project/src/new"))? == b"new\n");
    answer(env, id, "allow")?;
    let read = finish(reading, &[])?;
    expect_code(&read, 0)?;
    ensure!(read.stdout == b".env\n", "{read:?}");
    let again = begin(env, "cat /work/.env")?;
    let id = listener.asked("/work/.env")?;
    answer(env, id, "deny")?;
    expect_code(&finish(again, &[])?, 1)?;
    // One question for an open that also cuts the file.
    let writing = begin(env, "echo changed > /work/docs/guide")?;
    let id = listener.asked("/work/docs/guide")?;
    answer(env, id, "allow")?;
    expect_code(&finish(writing, &[])?, 0)?;
    ensure!(fs::read(host.0.join("project/docs/guide"))? == b"changed\n");
    let removing = begin(env, "rm /work/docs/guide")?;
    let id = listener.asked("/work/docs/guide")?;
    answer(env, id, "deny")?;
    expect_code(&finish(removing, &[])?, 1)?;
    ensure!(fs::read(host.0.join("project/docs/guide"))? == b"changed\n");
    // The rule that is kept permits what was asked for.
    let reading = begin(env, "cat /work/.env")?;
    let id = listener.asked("/work/.env")?;
    answer(env, id, "allow,always")?;
    expect_code(&finish(reading, &[])?, 0)?;
    expect_code(&in_guest(env, "cat /work/.env")?, 0)
}

/// Checks that a changed rule holds for the next access, and for one that waits.
fn changed_rules(env: &TestEnv, listener: &mut Listener) -> Result<()> {
    expect_code(&in_guest(env, "cat /work/sealed/id")?, 1)?;
    ensure!(output(env, &["allow", NAME, "/work/sealed/id"])?.is_empty());
    expect_code(&in_guest(env, "cat /work/sealed/id")?, 0)?;
    output(env, &["allow", NAME, "/work/sealed/id=hide"])?;
    expect_code(&in_guest(env, "cat /work/sealed/id")?, 1)?;
    let reading = begin(env, "cat /work/vault/key")?;
    listener.asked("/work/vault/key")?;
    output(env, &["allow", NAME, "vault/key=read-only"])?;
    expect_code(&finish(reading, &[])?, 0)?;
    expect_code(&in_guest(env, "echo x >> /work/vault/key || exit 1")?, 1)?;
    let outside = msb(env, &["allow", NAME, "/etc/passwd"])?;
    expect_code(&outside, 125)?;
    let told = String::from_utf8_lossy(&outside.stderr).into_owned();
    ensure!(told.contains("/work"), "{told}");
    Ok(())
}

/// Checks that a process which waits for an answer does not keep the sandbox from being paused or stopped.
fn paused(env: &TestEnv, listener: &mut Listener) -> Result<()> {
    output(env, &["allow", NAME, "/work/vault/key=ask"])?;
    let reading = begin(env, "cat /work/vault/key")?;
    listener.asked("/work/vault/key")?;
    output(env, &["pause", NAME])?;
    output(env, &["unpause", NAME])?;
    expect_code(&finish(reading, &[])?, 1)?;
    // Questions are asked again.
    let reading = begin(env, "cat /work/vault/key")?;
    listener.asked("/work/vault/key")?;
    output(env, &["stop", "-t", "0", NAME])?;
    finish(reading, &[]).map(drop)
}

/// Checks that the journal has questions, answers, and what rules have refused.
fn recorded(env: &TestEnv) -> Result<()> {
    let text = output(env, &["logs", "--source", "asks", NAME])?;
    for part in [
        "no client listens",
        "asks to read /work/.env",
        "asks to change /work/docs/guide",
        "allowed by msb asks",
        "denied by msb asks",
        "the sandbox is paused",
        "denied by a rule, /sealed=deny",
        "denied by a rule, /vault/key=read-only",
    ] {
        ensure!(text.contains(part), "{part}: {text}");
    }
    let lines = output(env, &["logs", "--source", "asks", "--format", "json", NAME])?;
    for line in lines.lines() {
        schema::judge("logs-asks", line)?;
    }
    Ok(())
}

/// Checks that the rules hold at the next start.
fn restarted(env: &TestEnv) -> Result<()> {
    output(env, &["allow", NAME, "/work/vault/key"])?;
    output(env, &["start", NAME])?;
    expect_code(&in_guest(env, "cd /work && cat .env vault/key")?, 0)?;
    expect_code(&in_guest(env, "cat /work/sealed/id")?, 1)
}

fn in_guest(env: &TestEnv, script: &str) -> Result<Output> {
    msb(env, &["exec", NAME, "sh", "-c", script])
}

/// Begins a command that may wait for an answer.
fn begin(env: &TestEnv, script: &str) -> Result<Child> {
    spawn(env.msb().args(["exec", NAME, "sh", "-c", script]))
}

fn answer(env: &TestEnv, id: u64, answer: &str) -> Result<()> {
    output(env, &["asks", NAME, "--answer", &format!("{id}={answer}")]).map(drop)
}
