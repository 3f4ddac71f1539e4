//! Sandboxes whose root is a disk image, as a cloud image is.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_fixtures::command::quiet;
use test_support::{TestEnv, describe, expect_code, schema};

use super::durability::remove;
use super::snapshots::{machine_start, told};

const NAME: &str = "checks-root-disk";
const FORK: &str = "checks-root-disk-fork";
/// The programs of the disk, by their paths on this host.
const PROGRAMS: [&str; 5] = ["dash", "cat", "df", "sleep", "sync"];
/// Size of the root partition, in MiB.
const PARTITION_MIB: u64 = 24;

/// Checks that a compressed qcow2 with a GPT boots, keeps what is written, grows, has snapshots and forks, and
/// that its file is never written; and that a file that changed is refused.
pub(super) fn booted(env: &TestEnv) -> Result<()> {
    let image = cloud_image(&env.work)?;
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

/// Makes a compressed qcow2 with a GPT, whose second partition has a few programs of this host.
fn cloud_image(work: &Path) -> Result<PathBuf> {
    let (tree, part, disk) = (work.join("tree"), work.join("part"), work.join("disk"));
    make_tree(&tree)?;
    let size = format!("{PARTITION_MIB}M");
    quiet(
        Command::new("mke2fs")
            .args(["-q", "-t", "ext4", "-d"])
            .args([&tree, &part])
            .arg(&size),
    )?;
    let script = format!("label: gpt\nsize=4MiB, type=U\nsize={PARTITION_MIB}MiB\n");
    fs::write(work.join("partitions"), script)?;
    fs::File::create(&disk)?.set_len((PARTITION_MIB + 8) << 20)?;
    let sfdisk = "sfdisk -q \"$1\" < \"$2\"";
    quiet(
        Command::new("sh")
            .args(["-c", sfdisk, "sh"])
            .args([&disk, &work.join("partitions")]),
    )?;
    // The first partition begins at 1 MiB, where sfdisk aligns it.
    let whole = fs::File::options().write(true).open(&disk)?;
    std::os::unix::fs::FileExt::write_all_at(whole.file(), &fs::read(&part)?, 5 << 20)?;
    let image = work.join("cloud.qcow2");
    quiet(
        Command::new("qemu-img")
            .args(["convert", "-c", "-f", "raw", "-O", "qcow2"])
            .args([&disk, &image]),
    )?;
    Ok(image)
}

/// Makes the files of a disk: a text and a few programs of this host.
pub(crate) fn make_tree(tree: &Path) -> Result<()> {
    for directory in ["usr/bin", "etc", "root"] {
        fs::create_dir_all(tree.join(directory))?;
    }
    fs::write(tree.join("greeting"), "of the disk\n")?;
    PROGRAMS
        .iter()
        .try_for_each(|program| add_program(tree, program))
}

/// Copies a program of this host and the libraries that `ldd` lists, to the same paths.
fn add_program(tree: &Path, program: &str) -> Result<()> {
    let path = PathBuf::from(format!("/usr/bin/{program}"));
    let listed = quiet(Command::new("ldd").arg(&path))?;
    let listed = String::from_utf8(listed.stdout)?;
    let libraries = listed
        .split_whitespace()
        .filter(|word| word.starts_with('/'));
    for file in libraries.map(Path::new).chain([path.as_path()]) {
        let to = tree.join(file.strip_prefix("/")?);
        fs::create_dir_all(to.parent().context("a file has a directory")?)?;
        fs::copy(file, to)?;
    }
    Ok(())
}
