//! Sandboxes whose root is one ext4 with the image's files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use test_support::{TestEnv, expect_code, schema, upper_disk};

use super::disks::directory;
use super::durability::{check_upper, remove};
use super::host_directory::HostDirectory;
use super::snapshots::{machine_start, told};

const NAME: &str = "checks-native-root";
const FORK: &str = "checks-native-root-fork";
const OVERLAY: &str = "checks-native-root-overlay";
const STAGED: &str = "checks-native-root-staged";
const STAGED_FORK: &str = "checks-native-root-staged-fork";
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

/// Prints a digest of programs of the image.
const DIGEST: &str = "find /usr/bin -xdev -type f -print0 | sort -z | xargs -0 cksum | cksum";
/// Changes the staged directory and the root.
const CHANGE_STAGED: &str = "set -e; cd /work; echo two > src/main.rs; echo new > new.txt; rm old.txt; \
    mkdir -p /srv; echo root > /srv/own; sync";
/// The changes of the staged directory, as `msb diff` lists them.
const STAGED_CHANGES: &str = "A /work/new.txt\nD /work/old.txt\nC /work/src/main.rs\n";

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
    expect_clean(env, NAME)?;
    told(env, &["rollback", &format!("{NAME}@one")])?;
    restart(env, NAME)?;
    ensure!(
        guest(env, NAME, LOOK)? == wanted,
        "a rollback brings the image's files back"
    );
    told(env, &["stop", "-t", "0", NAME])?;
    expect_clean(env, NAME)?;
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

/// Checks that changes of a staged directory lie beside a native root: they are seen, applied, taken back and staged
/// anew, and the root's own files stay as they are.
pub(super) fn has_staged_directories(env: &TestEnv) -> Result<()> {
    let project = HostDirectory::new(env)?.0.join("project");
    fs::create_dir_all(project.join("src"))?;
    fs::write(project.join("src/main.rs"), "one\n")?;
    fs::write(project.join("old.txt"), "old\n")?;
    let mount = format!("{}:/work:staged", project.display());
    let _ = remove(env, STAGED_FORK);
    let own = ["--native-root", "-v", &mount, "--add-host", "db:10.0.0.1"];
    start(env, STAGED, &own)?;
    let script = "set -e; cd /work; find . | sort; cat src/main.rs old.txt; ! ls / | grep -e upper -e staged";
    let expected = ".\n./old.txt\n./src\n./src/main.rs\none\nold\n";
    ensure!(guest(env, STAGED, script)? == expected, "the first files");
    let programs = guest(env, STAGED, DIGEST)?;
    told(env, &["snapshot", "create", &format!("{STAGED}@begun")])?;
    guest(env, STAGED, CHANGE_STAGED)?;
    expect_changes(env, STAGED, STAGED_CHANGES)?;
    told(env, &["fork", STAGED, STAGED_FORK])?;
    expect_changes(env, STAGED_FORK, STAGED_CHANGES)?;
    remove(env, STAGED_FORK)?;
    come_home(env, &project)?;

    told(env, &["stop", "-t", "0", STAGED])?;
    expect_clean(env, STAGED)?;
    let files = ["/work/new.txt", "/srv/own"].map(|path| told(env, &["fs", "cat", STAGED, path]));
    ensure!(
        matches!(&files, [Ok(new), Ok(own)] if new == "new\n" && own == "root\n"),
        "{files:?}"
    );
    told(env, &["discard", STAGED, "/work/new.txt"])?;
    let left = "D /work/old.txt\nC /work/src/main.rs\n";
    expect_changes(env, STAGED, left)?;
    expect_clean(env, STAGED)?;
    restart(env, STAGED)?;
    let script =
        "set -e; cat /work/src/main.rs /srv/own; test ! -e /work/new.txt; grep -c db$ /etc/hosts";
    let found = guest(env, STAGED, script)?;
    ensure!(found == "two\nroot\n1\n", "a discard: {found}");
    ensure!(guest(env, STAGED, DIGEST)? == programs, "the image's files");

    told(env, &["rollback", &format!("{STAGED}@begun")])?;
    let script = "set -e; cat /work/src/main.rs /work/old.txt; test ! -e /srv/own";
    ensure!(guest(env, STAGED, script)? == "one\nold\n", "a rollback");
    expect_changes(env, STAGED, "")?;
    staged_anew(env)?;
    ensure!(guest(env, STAGED, DIGEST)? == programs, "the image's files");
    end(env, STAGED)
}

/// Checks the changes of the staged directory. The root has no others.
fn expect_changes(env: &TestEnv, name: &str, expected: &str) -> Result<()> {
    for words in [&["diff", name][..], &["diff", name, "--", "/work"]] {
        let found = told(env, words)?;
        ensure!(found == expected, "{words:?}: {found}");
    }
    expect_code(&env.msb().args(["diff", name, "--", "/srv"]).output()?, 125)
}

/// Checks that the changes of the running sandbox are applied to the host's directory.
fn come_home(env: &TestEnv, project: &Path) -> Result<()> {
    told(env, &["apply", STAGED])?;
    let read = |name: &str| fs::read_to_string(project.join(name)).ok();
    let found = ["src/main.rs", "new.txt", "old.txt"].map(read);
    ensure!(
        found == [Some("two\n".into()), Some("new\n".into()), None],
        "{found:?}"
    );
    Ok(())
}

/// Checks that the sandbox without changes gets the host's files of this moment.
fn staged_anew(env: &TestEnv) -> Result<()> {
    told(env, &["stop", "-t", "0", STAGED])?;
    for snapshot in told(env, &["snapshot", "ls", "-q", STAGED])?.lines() {
        told(env, &["snapshot", "rm", snapshot])?;
    }
    let made = told(env, &["restage", STAGED])?;
    ensure!(made == STAGED_CHANGES, "{made}");
    expect_clean(env, STAGED)?;
    restart(env, STAGED)?;
    let script = "set -e; cat /work/src/main.rs /work/new.txt; test ! -e /work/old.txt";
    ensure!(guest(env, STAGED, script)? == "two\nnew\n", "a restage");
    Ok(())
}

/// Checks the filesystem on the disk of a stopped sandbox.
fn expect_clean(env: &TestEnv, name: &str) -> Result<()> {
    let raw: PathBuf = env.work.join("native-root.ext4");
    upper_disk::export(&directory(env, name)?.join("generations"), &raw)?;
    check_upper(&raw)
}

/// Returns the bytes that the newest sealed generation takes.
fn newest_bytes(env: &TestEnv) -> Result<u64> {
    upper_disk::newest_sealed_bytes(&directory(env, NAME)?.join("generations"))
        .context("the generation that the last cut sealed")
}
