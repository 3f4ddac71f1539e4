//! Disk images whose root is XFS or Btrfs, on msb's kernel that has these.
//!
//! The test builds a kernel of its own, which takes minutes, so it runs on request alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_fixtures::command::quiet;
use test_fixtures::kernel;
use test_support::harness::{self, Trial};
use test_support::{TestEnv, describe};

use crate::checks::root_disk::make_tree;

const NAME: &str = "root-filesystem";
/// The name under which msb looks for a kernel with more filesystems.
const KERNEL: &str = "vmlinux-filesystems";

/// A filesystem, and how a disk with it is made.
struct Case {
    name: &'static str,
    size_mib: u64,
    /// The directory of the mounted filesystem that has the root: a subvolume of Btrfs.
    subvolume: Option<&'static str>,
}

const CASES: [Case; 3] = [
    // The least size that mkfs.xfs accepts is 300 MiB.
    Case {
        name: "xfs",
        size_mib: 320,
        subvolume: None,
    },
    Case {
        name: "btrfs",
        size_mib: 256,
        subvolume: None,
    },
    Case {
        name: "btrfs",
        size_mib: 256,
        subvolume: Some("@"),
    },
];

/// Returns the test. The cases run one after the other, because they share the kernel's place.
pub(crate) fn tests() -> Vec<Trial> {
    vec![harness::test("filesystems::boot_xfs_and_btrfs", run).with_ignored_flag(true)]
}

fn run() -> Result<String> {
    let env = TestEnv::with_guests("filesystems")?;
    let kernel = env.home().join("kernels").join(KERNEL);
    fs::create_dir_all(env.home().join("kernels"))?;
    fs::copy(kernel::with_filesystems()?, &kernel)?;
    let outcomes = CASES.iter().map(|case| {
        let place = case.subvolume.unwrap_or("no subvolume");
        booted(&env, case).with_context(|| format!("{}, {place}", case.name))
    });
    let outcomes: Result<Vec<_>> = outcomes.collect();
    fs::remove_file(kernel)?;
    let seen = outcomes?;
    env.expect_nothing_left()?;
    env.remove_work()?;
    Ok(seen.join("; "))
}

/// Boots the disk, lets it grow, takes a snapshot, rolls back while it runs, and starts it again.
fn booted(env: &TestEnv, case: &Case) -> Result<String> {
    let disk = make_disk(&env.work, case)?;
    let disk = disk.to_str().context("a path of text")?;
    let machine = |words: &[&str]| {
        let mut line = env.machine_command(words[0]);
        // The kernel is chosen by what the root needs.
        line.args(&words[1..]).env_remove("MSB_KERNEL");
        let output = line.output()?;
        ensure!(output.status.success(), "{words:?}: {}", describe(&output));
        Ok(())
    };
    machine(&[
        "run",
        "-d",
        "--cpus",
        "1",
        "--memory",
        "192M",
        "--name",
        NAME,
        "--upper-size",
        "700M",
        "--root-disk",
        disk,
        "sleep",
        "1000",
    ])?;
    let script = "set -e; read kind < /greeting; echo $kind > /written; sync; df -P -B 1M / > /df; \
        while read device size rest; do last=$size; done < /df; echo $last";
    let size_mib: u64 = guest(env, script)?.trim().parse()?;
    ensure!(size_mib > 500, "the filesystem has {size_mib} MiB");
    told(env, &["snapshot", "create", &format!("{NAME}@one")])?;
    guest(env, "echo later > /written; sync")?;
    told(env, &["rollback", &format!("{NAME}@one")])?;
    ensure!(
        guest(env, "cat /written")? == "of the disk\n",
        "rolled back"
    );
    guest(env, "echo kept > /written; sync")?;
    told(env, &["stop", "-t", "0", NAME])?;
    machine(&["start", NAME])?;
    ensure!(guest(env, "cat /written")? == "kept\n", "started again");
    told(env, &["rm", "-f", NAME])?;
    Ok(format!("{}, grown to {size_mib} MiB", case.name))
}

/// Makes a raw disk with the filesystem and a few programs of this host.
fn make_disk(work: &Path, case: &Case) -> Result<PathBuf> {
    let disk = work.join("disk");
    fs::File::create(&disk)?.set_len(case.size_mib << 20)?;
    quiet(
        Command::new(format!("mkfs.{}", case.name))
            .arg("-q")
            .arg(&disk),
    )?;
    let mounted = work.join("mounted");
    fs::create_dir_all(&mounted)?;
    quiet(
        Command::new("mount")
            .args(["-o", "loop"])
            .args([&disk, &mounted]),
    )?;
    let made = fill(&mounted, case);
    quiet(Command::new("umount").arg(&mounted))?;
    made.map(|()| disk)
}

fn fill(mounted: &Path, case: &Case) -> Result<()> {
    let Some(name) = case.subvolume else {
        return make_tree(mounted);
    };
    let root = mounted.join(name);
    quiet(
        Command::new("btrfs")
            .args(["subvolume", "create"])
            .arg(&root),
    )?;
    make_tree(&root)
}

/// Runs a script in the guest, and returns what it printed.
fn guest(env: &TestEnv, script: &str) -> Result<String> {
    told(env, &["exec", NAME, "dash", "-c", script])
}

fn told(env: &TestEnv, words: &[&str]) -> Result<String> {
    let output = env.msb().args(words).env_remove("MSB_KERNEL").output()?;
    ensure!(output.status.success(), "{words:?}: {}", describe(&output));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
