//! Sandboxes whose root is a disk image, as a cloud image is.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_support::{TestEnv, describe, expect_code, schema};

use super::durability::remove;
use super::snapshots::{machine_start, told};
use crate::disk_images::CLOUD;

const NAME: &str = "checks-root-disk";
const FORK: &str = "checks-root-disk-fork";

/// Checks that a compressed qcow2 with a GPT boots, keeps what is written, grows, has snapshots and forks, and
/// that its file is never written; and that a file that changed is refused.
pub(super) fn booted(env: &TestEnv) -> Result<()> {
    let image = CLOUD.provide(&env.work)?;
    let before = fs::read(&image)?;
    let disk = image.to_str().context("a path of text")?;
    let start = || {
        // A start without an answer leaves its sandbox.
        let _ = remove(env, NAME);
        let mut line = env.machine_command("run");
        line.args(["-d", "--cpus", "1", "--memory", "128M", "--name", NAME]);
        line.args(["--upper-size", "64M", "--root-disk", disk, "sleep", "1000"]);
        line
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    let script = "set -e; read kind < /greeting; echo $kind > /written; sync; cat /written; \
        read line < /etc/hosts; echo $line; test -d /proc/self; df -P -B 1M / > /df; \
        while read device size rest; do last=$size; done < /df; test $last -gt 40";
    let said = guest(env, NAME, script)?;
    ensure!(said.starts_with("of the disk\n127.0.0.1"), "{said}");
    for (words, name) in [
        (&["ps", "--format", "json"][..], "ps"),
        (&["inspect", NAME], "inspect"),
    ] {
        let document = told(env, words)?;
        ensure!(document.contains("\"format\": \"qcow2\""), "{document}");
        schema::judge(name, &document)?;
    }
    told(env, &["snapshot", "create", &format!("{NAME}@one")])?;
    guest(env, NAME, "echo later > /written; sync")?;
    told(env, &["fork", NAME, FORK])?;
    told(env, &["stop", "-t", "0", NAME])?;
    told(env, &["rollback", &format!("{NAME}@one")])?;
    for (name, written) in [(NAME, "of the disk\n"), (FORK, "later\n")] {
        expect_code(&env.retried(|| machine_start(env, name), &[])?, 0)?;
        ensure!(guest(env, name, "cat /written")? == written, "{name}");
        told(env, &["stop", "-t", "0", name])?;
    }
    ensure!(fs::read(&image)? == before, "the file was written to");
    remove(env, FORK)?;
    refused_when_changed(env, &image)?;
    remove(env, NAME)
}

/// Checks that a sandbox whose disk image was written to does not start, and names the file.
fn refused_when_changed(env: &TestEnv, image: &Path) -> Result<()> {
    let mut bytes = fs::read(image)?;
    bytes.push(0);
    fs::write(image, bytes)?;
    let refused = machine_start(env, NAME).output()?;
    let said = describe(&refused);
    let expected = format!("{} has changed", image.display());
    ensure!(
        !refused.status.success() && said.contains(&expected),
        "{said}"
    );
    Ok(())
}

/// Runs a script in a guest, and returns what it printed.
fn guest(env: &TestEnv, name: &str, script: &str) -> Result<String> {
    told(env, &["exec", name, "dash", "-c", script])
}
