//! Rollbacks of a running sandbox, whose machine stays up.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_support::{TestEnv, expect_code, spawn, upper_disk};

use super::disks::directory;
use super::durability::{check_upper, remove};
use super::silence::{STOP_AGENT, await_stop};
use super::snapshots::told;

const NAME: &str = "checks-rollback";
const HOST: &str = "rolled-back";
const VOLUME: &str = "checks-rollback";
const WRITER: &str = include_str!("rollback.sh");
const WRITING: &str = "until test -e /dev/shm/writing; do sleep 0.1; done";
const BOOT_ID: &str = "cat /proc/sys/kernel/random/boot_id";
/// A command that runs until the rollback.
const UNDER_WAY: &str = "touch /dev/shm/waiting; exec sleep 1000";
/// A process that no signal but SIGKILL ends, in a session and a mount namespace of its own.
const DEAF: &str = "trap '' TERM; exec setsid unshare -m sh -c \"trap '' TERM; \
    while :; do echo x >> /srv/deaf; done\"";
/// Mounts in the root, of which one shows the writable disk.
const MOUNTS: &str = "mkdir /mnt/memory /mnt/again && mount -t tmpfs none /mnt/memory && \
    mount --bind /srv /mnt/again && echo x > /mnt/again/bound";
/// The times after which a client that rolls back is killed.
const KILLED_AFTER_MS: [u64; 6] = [5, 30, 60, 100, 150, 300];
/// The number of times that the port is tried: Python needs half a minute on an overloaded host.
const FETCHED: usize = 1200;
/// The number of times that the guest is asked, while what a killed client began ends.
const ASKED: usize = 600;

/// Checks that a running sandbox goes back to a snapshot while programs write and its machine stays up, and
/// that a guest that does not do its part is booted instead.
pub(super) fn of_running(env: &TestEnv) -> Result<()> {
    let _ = remove(env, NAME);
    let _ = env.msb().args(["volume", "rm", "-f", VOLUME]).output()?;
    told(env, &["volume", "create", "--size", "64M", VOLUME])?;
    let shared = env.work.join("rollback");
    fs::create_dir_all(&shared)?;
    let share = format!("{}:/h", shared.display());
    let volume = format!("{VOLUME}:/v");
    let start = |pid| {
        let _ = remove(env, NAME);
        let own = [
            "-d",
            "--name",
            NAME,
            "--hostname",
            HOST,
            "-p",
            "8000",
            "--pid",
            pid,
        ];
        let disks = ["--upper-size", "256M", "-v", &volume, "-v", &share];
        env.run_command(&[&own[..], &disks].concat(), &["sh", "-c", WRITER])
    };
    let begin = |pid| {
        expect_code(&env.retried(|| start(pid), &[])?, 0)?;
        guest(env, WRITING)?;
        guest(env, "echo first > /srv/file; echo kept > /v/file")?;
        told(env, &["snapshot", "create", &at("first")])?;
        guest(
            env,
            "echo second > /srv/file; touch /srv/new; echo shared > /h/file",
        )
    };
    begin("private")?;
    guest(env, MOUNTS)?;
    told(env, &["exec", "-d", NAME, "sh", "-c", DEAF])?;
    guest(env, "until test -e /srv/deaf; do sleep 0.1; done")?;
    let boot_id = guest(env, BOOT_ID)?;
    let waiting = spawn(env.msb().args(["exec", NAME, "sh", "-c", UNDER_WAY]))?;
    guest(env, "until test -e /dev/shm/waiting; do sleep 0.1; done")?;
    ensure!(told(env, &["rollback", &at("first")])? == format!("{}\n", at("2")));
    expect_code(&waiting.wait_with_output()?, 137)?;
    ensure!(guest(env, BOOT_ID)? == boot_id, "the machine was booted");
    expect_first(env)?;
    expect_port(env)?;
    expect_kept(env)?;
    told(env, &["rollback", &at("2")])?;
    ensure!(guest(env, "cat /srv/file /srv/deaf | head -n 2")? == "second\nx\n");
    told(env, &["pause", NAME])?;
    told(env, &["rollback", "-t", "1", &at("first")])?;
    ensure!(guest(env, BOOT_ID)? == boot_id, "the machine was booted");
    expect_first(env)?;
    clients_killed(env)?;
    // What a command does in its own namespaces does not reach the agent.
    told(env, &["stop", "-t", "0", NAME])?;
    begin("host")?;
    booted_instead(env)?;
    told(env, &["stop", "-t", "0", NAME])?;
    told(env, &["snapshot", "verify", NAME])?;
    let raw = env.work.join("rollback.ext4");
    upper_disk::export(&directory(env, NAME)?.join("generations"), &raw)?;
    check_upper(&raw)?;
    remove(env, NAME)?;
    told(env, &["volume", "rm", VOLUME]).map(drop)
}

/// Checks that the files are those of the first snapshot, and that all else is as before.
fn expect_first(env: &TestEnv) -> Result<()> {
    guest(env, WRITING)?;
    let files = guest(
        env,
        "cat /srv/file; ls /srv/new /srv/deaf /mnt 2>/dev/null; true",
    )?;
    ensure!(files == "first\n/mnt:\n" || files == "first\n", "{files}");
    let others = guest(
        env,
        "cat /v/file /h/file; hostname; grep -c rolled-back /etc/hosts",
    )?;
    ensure!(others == format!("kept\nshared\n{HOST}\n1\n"), "{others}");
    let deaf = guest(env, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")?;
    ensure!(!deaf.contains("/srv/deaf;"), "a process lives on: {deaf}");
    Ok(())
}

/// Checks that the published port leads to the server that was started anew.
fn expect_port(env: &TestEnv) -> Result<()> {
    let port = told(env, &["port", NAME, "8000"])?;
    let port = port.lines().next().context("no port")?;
    let mut last = String::new();
    for _ in 0..FETCHED {
        last = fetched(port)?;
        if last.ends_with("\r\n\r\nfirst\n") {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    anyhow::bail!("the port gives {last}")
}

/// Returns what the guest's server answers.
fn fetched(address: &str) -> Result<String> {
    let mut answer = String::new();
    let address = address.replace("0.0.0.0", "127.0.0.1");
    let mut stream = TcpStream::connect(&address).with_context(|| address.clone())?;
    // The guest's server may not listen yet, and the connection is reset.
    let asked = stream.write_all(b"GET /file HTTP/1.0\r\n\r\n");
    let _ = asked.and_then(|()| stream.read_to_string(&mut answer));
    Ok(answer)
}

/// Checks the snapshot of the files as they were before.
fn expect_kept(env: &TestEnv) -> Result<()> {
    let format = "{{.consistency}} {{.automatic}}";
    let found = told(env, &["snapshot", "inspect", "-f", format, &at("2")])?;
    ensure!(found == "clean true\n", "{found}");
    ensure!(told(env, &["fs", "cat", &at("2"), "/srv/file"])? == "second\n");
    let raw = env.work.join("rollback.ext4");
    upper_disk::export_snapshot(&directory(env, NAME)?, "2", &raw)?;
    check_upper(&raw)
}

/// Kills clients that roll back. The sandbox runs with the one content or the other.
fn clients_killed(env: &TestEnv) -> Result<()> {
    for (round, after_ms) in KILLED_AFTER_MS.into_iter().enumerate() {
        let snapshot = at(["2", "first"][round % 2]);
        let mut client = spawn(env.msb().args(["rollback", &snapshot]))?;
        std::thread::sleep(Duration::from_millis(after_ms));
        // It may have ended.
        let _ = client.kill();
        client.wait()?;
        let file = guest_later(env, "cat /srv/file")?;
        ensure!(
            file == "first\n" || file == "second\n",
            "{after_ms} ms: {file}"
        );
    }
    told(env, &["snapshot", "verify", NAME])?;
    told(env, &["rollback", &at("first")])?;
    expect_first(env)
}

/// Checks guests that cannot unmount, and whose agent is stopped.
fn booted_instead(env: &TestEnv) -> Result<()> {
    let boot_id = guest(env, BOOT_ID)?;
    guest(env, "echo third > /srv/file; umount -l /run/msb/boot")?;
    told(env, &["rollback", &at("first")])?;
    let second_id = guest(env, BOOT_ID)?;
    ensure!(second_id != boot_id, "the machine was not booted");
    expect_first(env)?;
    told(env, &["exec", "-d", NAME, "python3", "-c", STOP_AGENT])?;
    // The agent may be stopped before it tells the end of this command.
    let mut go = spawn(env.msb().args(["exec", NAME, "touch", "/go"]))?;
    await_stop(env, NAME)?;
    told(env, &["rollback", &at("first")])?;
    go.wait()?;
    ensure!(
        guest(env, BOOT_ID)? != second_id,
        "the machine was not booted"
    );
    expect_first(env)
}

fn at(snapshot: &str) -> String {
    format!("{NAME}@{snapshot}")
}

fn guest(env: &TestEnv, script: &str) -> Result<String> {
    told(env, &["exec", NAME, "sh", "-c", script])
}

/// Runs a script once the guest accepts commands.
fn guest_later(env: &TestEnv, script: &str) -> Result<String> {
    for _ in 0..ASKED {
        if let Ok(output) = guest(env, script) {
            return Ok(output);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    guest(env, script)
}
