//! Disk images whose root is XFS or Btrfs, on msb's kernel that has these.
//!
//! The test builds a kernel of its own, which takes minutes, so it runs on request alone.

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_fixtures::kernel;
use test_support::harness::{self, Trial};
use test_support::{TestEnv, describe};

use crate::disk_images::{DiskImage, FILESYSTEMS};

const NAME: &str = "root-filesystem";
/// The name under which msb looks for a kernel with more filesystems.
const KERNEL: &str = "vmlinux-filesystems";

/// Returns the test. The cases run one after the other, because they share the kernel's place.
pub(crate) fn tests() -> Vec<Trial> {
    vec![harness::long_test("filesystems::boot_xfs_and_btrfs", run)]
}

fn run() -> Result<String> {
    let env = TestEnv::with_guests("filesystems")?;
    let kernel = env.home().join("kernels").join(KERNEL);
    fs::create_dir_all(env.home().join("kernels"))?;
    fs::copy(kernel::with_filesystems()?, &kernel)?;
    let outcomes = FILESYSTEMS.iter();
    let outcomes = outcomes.map(|image| booted(&env, image).context(image.name));
    let outcomes: Result<Vec<_>> = outcomes.collect();
    fs::remove_file(kernel)?;
    let seen = outcomes?;
    env.expect_nothing_left()?;
    env.remove_work()?;
    Ok(seen.join("; "))
}

/// Boots the disk, lets it grow, takes a snapshot, rolls back while it runs, and starts it again.
fn booted(env: &TestEnv, image: &DiskImage) -> Result<String> {
    let disk = image.provide(&env.work)?;
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
    Ok(format!("{}, grown to {size_mib} MiB", image.name))
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
