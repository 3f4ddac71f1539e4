//! Sandboxes whose root is one ext4 with the image's files.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use test_support::{TestEnv, expect_code, schema, upper_disk};

use super::disks::directory;
use super::durability::{check_upper, remove};
use super::snapshots::{machine_start, told};

const NAME: &str = "checks-native-root";
const FORK: &str = "checks-native-root-fork";
const OVERLAY: &str = "checks-native-root-overlay";
/// The most that one changed byte of a large file takes on the host, in bytes.
const EDIT_MAX_BYTES: u64 = 64 << 10;
/// Prints each file of the image with its metadata and its digest. Only ext4 counts the blocks of directories.
const LOOK: &str = "set -e; cd /; find bin etc/apt lib opt sbin srv usr var -xdev \
    \\( -type d -printf '%p %y %m %U %G %T@\\n' -o -printf '%p %y %m %n %U %G %s %l %T@\\n' \\) | sort; \
    find etc/apt usr/bin usr/lib/python3* -xdev -type f -print0 | sort -z | xargs -0 sha256sum";
/// Changes one byte of the largest file of the image.
const EDIT: &str = "set -e; large=$(find /usr -xdev -type f -printf '%s %p\\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-); \
    printf x | dd of=$large bs=1 seek=100000 conv=notrunc,fsync status=none; sync; stat -c %s $large";
/// Uses what an overlay has to do in its own way.
const CHANGE: &str = "set -e; mv /usr/lib/python3.* /usr/lib/moved; ln /usr/lib/moved/os.py /linked; \
    mkdir /srv/made; echo kept > /srv/made/file; rm -r /etc/apt; chmod 600 /usr/bin/env; sync";

/// Checks that a native root shows what an overlay shows, that one changed byte takes few blocks of the host, and
/// that snapshots, rollbacks, forks and the files of the stopped sandbox have what was written.
pub(super) fn booted(env: &TestEnv) -> Result<()> {
    start(env, OVERLAY, &[])?;
    let wanted = guest(env, OVERLAY, LOOK)?;
    end(env, OVERLAY)?;
    start(env, NAME, &["--native-root"])?;
    let seen = guest(env, NAME, LOOK)?;
    let other = wanted
        .lines()
        .zip(seen.lines())
        .find(|(one, other)| one != other);
    ensure!(seen == wanted, "{other:?} differ");
    let listed = told(env, &["ps", "--format", "json"])?;
    ensure!(listed.contains("\"native_root\": true"), "{listed}");
    schema::judge("ps", &listed)?;

    told(env, &["snapshot", "create", &format!("{NAME}@one")])?;
    let large_bytes: u64 = guest(env, NAME, EDIT)?.trim().parse()?;
    told(env, &["snapshot", "create", &format!("{NAME}@edited")])?;
    let taken_bytes = newest_bytes(env)?;
    ensure!(
        large_bytes > 16 * EDIT_MAX_BYTES && taken_bytes <= EDIT_MAX_BYTES,
        "an edit of one of {large_bytes} bytes took {taken_bytes} bytes"
    );

    guest(env, NAME, CHANGE)?;
    told(env, &["fork", NAME, FORK])?;
    told(env, &["stop", "-t", "0", NAME])?;
    ensure!(
        told(env, &["fs", "cat", NAME, "/srv/made/file"])? == "kept\n",
        "the stopped one"
    );
    expect_clean(env)?;
    told(env, &["rollback", &format!("{NAME}@one")])?;
    restart(env, NAME)?;
    ensure!(
        guest(env, NAME, LOOK)? == wanted,
        "a rollback brings the image's files back"
    );
    told(env, &["stop", "-t", "0", NAME])?;
    expect_clean(env)?;
    restart(env, FORK)?;
    let script =
        "stat -c %h /linked; cat /srv/made/file; test ! -e /etc/apt; stat -c %a /usr/bin/env";
    ensure!(guest(env, FORK, script)? == "2\nkept\n600\n", "the fork");
    end(env, FORK)?;
    remove(env, NAME)
}

fn start(env: &TestEnv, name: &str, options: &[&str]) -> Result<()> {
    let line = || {
        // A start without an answer leaves its sandbox.
        let _ = remove(env, name);
        let own = [
            "-d",
            "--name",
            name,
            "--network",
            "none",
            "--upper-size",
            "1G",
        ];
        env.run_command(&[&own[..], options].concat(), &["sleep", "1000"])
    };
    expect_code(&env.retried(line, &[])?, 0)
}

/// Stops and removes a sandbox.
fn end(env: &TestEnv, name: &str) -> Result<()> {
    told(env, &["stop", "-t", "0", name])?;
    remove(env, name)
}

fn restart(env: &TestEnv, name: &str) -> Result<()> {
    expect_code(&env.retried(|| machine_start(env, name), &[])?, 0)
}

fn guest(env: &TestEnv, name: &str, script: &str) -> Result<String> {
    told(env, &["exec", name, "sh", "-c", script])
}

/// Checks the filesystem on the disk of the stopped sandbox.
fn expect_clean(env: &TestEnv) -> Result<()> {
    let raw: PathBuf = env.work.join("native-root.ext4");
    upper_disk::export(&directory(env, NAME)?.join("generations"), &raw)?;
    check_upper(&raw)
}

/// Returns the bytes that the newest sealed generation takes.
fn newest_bytes(env: &TestEnv) -> Result<u64> {
    upper_disk::newest_sealed_bytes(&directory(env, NAME)?.join("generations"))
        .context("the generation that the last cut sealed")
}
