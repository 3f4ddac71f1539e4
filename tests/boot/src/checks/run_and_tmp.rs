//! The image's own files in `/run` and `/tmp`.

use std::process::Output;

use anyhow::{Result, ensure};
use test_support::{TestEnv, describe, expect_code};

use super::durability::remove;
use super::host_directory::HostDirectory;

const KEPT: &str = "checks-run-and-tmp";
const FILLED: &str = "checks-run-and-tmp-filled";
const VOLUME: &str = "checks-run-and-tmp-volume";
const IMAGE: &str = "checks-run-and-tmp:1";

/// Leaves files in `/run` and `/tmp`. Both are on the disk of the root.
const LEAVE: &str = "set -e
test \"$(stat -c %d /tmp)\" = \"$(stat -c %d /etc)\"; test \"$(stat -c %d /run)\" = \"$(stat -c %d /etc)\"
test \"$(stat -c '%a %u:%g' /tmp /run/made)\" = \"1777 0:0
755 0:0\"
cat /tmp/copied
mkdir -p /run/service /tmp/app; chown 33:33 /run/service
printf '#!/bin/sh\\necho started $(stat -c %%u /run/service) $(ls /tmp/app)\\n' > /tmp/app/start.sh
chmod 755 /tmp/app/start.sh; touch /run/lock/own
test \"$(stat -f -c %T /run/msb)\" = tmpfs; stat -c %a /run/msb; test -d /run/msb/image/etc
sync";
/// The changes that this makes, as `msb diff` lists them. `--copy` and `--mkdir` made what the sandbox began with.
const LISTED: [&str; 4] = [
    "/run/lock/own",
    "/run/service",
    "/tmp/app",
    "/tmp/app/start.sh",
];

/// Checks that what lies in `/run` and `/tmp` is the image's, stays over a stop, is listed and committed, and
/// fills volumes.
pub(super) fn kept(env: &TestEnv) -> Result<()> {
    let host = HostDirectory::new(env)?;
    std::fs::write(host.0.join("f"), "copied\n")?;
    let copy = format!("{}:/tmp/copied", host.path("f"));
    let start = || {
        let _ = remove(env, KEPT);
        let options = [
            "-d",
            "--name",
            KEPT,
            "--copy",
            &copy,
            "--mkdir",
            "/run/made",
        ];
        env.run_command(&options, &["sleep", "1000"])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    let left = msb(env, &["exec", KEPT, "sh", "-c", LEAVE])?;
    ensure!(left.stdout == b"copied\n700\n", "{}", describe(&left));
    expect_code(&left, 0)?;
    listed(env)?;
    covered_by_the_guest(env)?;
    expect_code(&msb(env, &["stop", KEPT])?, 0)?;
    listed(env)?;
    let files = msb(env, &["fs", "ls", KEPT, "/run"])?;
    expect_code(&files, 0)?;
    let names = String::from_utf8_lossy(&files.stdout);
    ensure!(
        names.contains("service") && !names.contains("msb"),
        "{names}"
    );
    expect_code(&msb(env, &["commit", KEPT, IMAGE])?, 0)?;
    again(env)?;
    from_the_image(env)?;
    remove(env, KEPT)?;
    expect_code(&msb(env, &["rmi", "--force", IMAGE])?, 0)
}

/// Checks what `msb diff` lists.
fn listed(env: &TestEnv) -> Result<()> {
    let output = msb(env, &["diff", "--format", "json", KEPT])?;
    expect_code(&output, 0)?;
    let changes: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout)?;
    let mut paths: Vec<&str> = changes
        .iter()
        .filter_map(|change| change["path"].as_str())
        .collect();
    paths.sort_unstable();
    ensure!(paths == LISTED, "{paths:?}");
    Ok(())
}

/// Checks that a guest that mounts something over `/run`, as systemd does, is frozen and stopped as any other.
fn covered_by_the_guest(env: &TestEnv) -> Result<()> {
    let cover = "mount -t tmpfs tmpfs /run && test ! -e /run/msb";
    expect_code(&msb(env, &["exec", KEPT, "sh", "-c", cover])?, 0)?;
    let snapshot = msb(env, &["snapshot", "create", &format!("{KEPT}@covered")])?;
    expect_code(&snapshot, 0)?;
    ensure!(
        !describe(&snapshot).contains("crash"),
        "{}",
        describe(&snapshot)
    );
    Ok(())
}

/// Checks that the files are there at the next start, also while the root is read-only.
fn again(env: &TestEnv) -> Result<()> {
    let start = || {
        let mut line = env.machine_command("start");
        line.arg(KEPT);
        line
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    let look = "set -e; /tmp/app/start.sh; cat /tmp/copied; test -e /run/lock/own; \
        flock /var/lock/x true";
    let seen = msb(env, &["exec", KEPT, "sh", "-c", look])?;
    ensure!(
        seen.stdout == b"started 33 start.sh\ncopied\n",
        "{}",
        describe(&seen)
    );
    expect_code(&msb(env, &["stop", KEPT])?, 0)
}

/// Checks that an image's program in `/tmp` is found, and that volumes there are filled.
fn from_the_image(env: &TestEnv) -> Result<()> {
    let volume = format!("{VOLUME}:/tmp/app");
    let start = |options: &'static [&'static str]| {
        let volume = volume.clone();
        move || {
            let _ = remove(env, FILLED);
            let mut line = env.machine_command("run");
            line.args([
                "--rm",
                "--name",
                FILLED,
                "-v",
                &volume,
                "-v",
                "/run/service",
            ]);
            line.args(options).arg(IMAGE).arg("/tmp/app/start.sh");
            line
        }
    };
    let output = env.retried(start(&[]), &[])?;
    ensure!(
        output.stdout == b"started 33 start.sh\n",
        "{}",
        describe(&output)
    );
    expect_code(&msb(env, &["volume", "rm", VOLUME])?, 0)?;
    let write = "touch /run/x || touch /tmp/x || touch /data/x && df /tmp | tail -1";
    let read_only = env.run(&["--read-only", "--tmpfs", "/data"], &["sh", "-c", write])?;
    expect_code(&read_only, 0)?;
    let refusals = String::from_utf8_lossy(&read_only.stderr);
    ensure!(
        refusals.matches("Read-only file system").count() == 2,
        "{}",
        describe(&read_only)
    );
    let sized = env.run(&["--tmp-size", "16M"], &["stat", "-f", "-c", "%T", "/tmp"])?;
    ensure!(sized.stdout == b"tmpfs\n", "{}", describe(&sized));
    Ok(())
}

fn msb(env: &TestEnv, words: &[&str]) -> Result<Output> {
    Ok(env.msb().args(words).output()?)
}
