//! Sockets of the host in a guest.

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use fs_err as fs;
use test_support::{TestEnv, describe, expect_code};

use super::durability::remove;
use super::secrets_scene::told;
use super::sockets_scene::{Agent, Echo, SocketDirectory};

const NAME: &str = "checks-sockets";
const FORK: &str = "checks-sockets-fork";
/// Uses the sockets in a guest.
const USE: &str = include_str!("sockets.py");
/// The most connections of one socket at a time: 64 that are carried, and as many whose end the server has not seen yet.
const CONNECTIONS_MAX: usize = 2 * 64;

/// Checks plain sockets, an SSH agent, what is refused, and what outlives a restart and a fork.
pub(super) fn forwarded(env: &TestEnv) -> Result<()> {
    let scratch = SocketDirectory::new()?;
    let directory = scratch.0.as_path();
    let agent = Agent::start(directory)?;
    let echo = Echo::start(directory)?;
    let refusing = directory.join("refusing");
    let listener = UnixListener::bind(&refusing)?;
    let sockets = [
        format!("{}:/srv/echo/socket:mode=600,owner=65534", echo.path()),
        format!("{}:/tmp/refusing", refusing.display()),
    ];
    let start = || {
        let _ = remove(env, NAME);
        let mut options = vec!["-d", "--name", NAME, "--forward-agent"];
        for socket in &sockets {
            options.extend(["--socket", socket]);
        }
        let mut line = env.run_command(&options, &["sleep", "1000"]);
        line.env("SSH_AUTH_SOCK", agent.path());
        line
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    let mode = told(
        env,
        &["exec", NAME, "stat", "-c", "%a %u", "/srv/echo/socket"],
    )?;
    ensure!(mode == "600 65534\n", "{mode}");
    echoes(env, NAME)?;
    signs(env, &agent)?;
    drop(listener);
    ensure!(used(env, NAME, &["closed", "/tmp/refusing"])? == "closed\n");
    ensure!(used(env, NAME, &["flood", "/srv/echo/socket"])? == "flooded\n");
    echoes(env, NAME)?;
    let most = echo.most_at_once();
    ensure!(most <= CONNECTIONS_MAX, "{most} connections at once");
    outlives(env, &agent)?;
    refused(env, directory)
}

/// Runs a function of the script in a guest.
fn used(env: &TestEnv, sandbox: &str, words: &[&str]) -> Result<String> {
    let line = ["exec", sandbox, "python3", "-c", USE];
    told(env, &[&line[..], words].concat())
}

fn echoes(env: &TestEnv, sandbox: &str) -> Result<()> {
    let echoed = used(env, sandbox, &["echo", "/srv/echo/socket"])?;
    ensure!(echoed == "echoed\n", "{echoed}");
    Ok(())
}

/// Checks that the guest lists the keys and signs, that OpenSSH accepts the signature, and what the log says.
fn signs(env: &TestEnv, agent: &Agent) -> Result<()> {
    let signature = used(env, NAME, &["agent"])?;
    agent.verify(b"message", &signature)?;
    ensure!(agent.keys()? == 1, "a key was removed");
    let log = told(env, &["logs", "--source", "machine", NAME])?;
    for expected in [
        format!("signed with the key {} (check)", agent.fingerprint()?),
        "was refused: the SSH agent was to remove all keys".to_owned(),
    ] {
        ensure!(log.contains(&expected), "no '{expected}' in {log}");
    }
    Ok(())
}

/// Checks that a sandbox has its sockets again after a restart, and that a fork has them.
fn outlives(env: &TestEnv, agent: &Agent) -> Result<()> {
    let with_agent = |mut line: Command| {
        line.env("SSH_AUTH_SOCK", agent.path());
        line
    };
    told(env, &["stop", "-t", "1", NAME])?;
    let mut without = env.machine_command("start");
    without.arg(NAME).env_remove("SSH_AUTH_SOCK");
    let output = without.output()?;
    let said = describe(&output);
    ensure!(
        !output.status.success() && said.contains("SSH_AUTH_SOCK is not set"),
        "{said}"
    );
    let start = || {
        let mut line = with_agent(env.machine_command("start"));
        line.arg(NAME);
        line
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    echoes(env, NAME)?;
    told(env, &["stop", "-t", "1", NAME])?;
    let _ = remove(env, FORK);
    told(env, &["fork", NAME, FORK])?;
    let start = || {
        let mut line = with_agent(env.machine_command("start"));
        line.arg(FORK);
        line
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    echoes(env, FORK)?;
    let inspected = told(env, &["inspect", FORK])?;
    let report: serde_json::Value = serde_json::from_str(&inspected)?;
    ensure!(report[0]["forward_agent"] == true, "{}", report[0]);
    told(env, &["rm", "-f", FORK, NAME]).map(drop)
}

/// Checks what is refused before a boot.
fn refused(env: &TestEnv, directory: &Path) -> Result<()> {
    let engine = directory.join("docker.sock");
    let listener = UnixListener::bind(&engine)?;
    let link = directory.join("innocent.sock");
    fs::os::unix::fs::symlink(&engine, &link)?;
    let file = directory.join("file");
    fs::write(&file, "")?;
    for (path, expected) in [
        (&engine, "it is the host"),
        (&link, "it is the host"),
        (&file, "it is not a socket"),
        (&directory.join("missing"), "cannot forward the socket"),
    ] {
        let socket = format!("{}:/tmp/s", path.display());
        let output = env.run(&["--rm", "--socket", &socket], &["true"])?;
        let said = describe(&output);
        ensure!(
            !output.status.success() && said.contains(expected),
            "{socket}: {said}"
        );
    }
    drop(listener);
    Ok(())
}
