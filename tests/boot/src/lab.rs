use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_fixtures::{build, kernel};
use test_support::harness::Trial;
use test_support::lab::{Job, Lab, Outcome};
use test_support::{TestEnv, harness, trees};

use crate::{disk_images, guest_tree};

/// The environment of the tests in the lab.
const ENVIRONMENT: &str = "export MSB_HOME=/job/home MSB_KERNEL=/job/kernel MSB_TEST_MSB=/job/msb \
    MSB_TEST_IMAGE=\"$0\" MSB_TEST_VMM=krun MSB_TEST_WORK=/job/work MSB_TEST_BOOT_TIMEOUT_S=90 \
    MSB_TEST_GUESTS=1;";
/// Runs the walk, then prints the guest's tree.
const LIFE: &str = "./boot walk:: && ./boot --guest-tree ./tree-dump > out/tree";
/// Runs the checks that depend on the VMM.
const MACHINE: &str = "MSB_TEST_MEMORY_MIB=256 ./boot checks::machine::";
/// Runs the checks of the disk below a guest, among which are those of staged directories, and boots from other
/// filesystems. A guest that failed is left with its console.
const DISK: &str = "export MSB_TEST_DISK_IMAGES=/job/disk-images \
    MSB_TEST_KERNEL_WITH_FILESYSTEMS=/job/kernel-with-filesystems; \
    code=0; MSB_TEST_MEMORY_MIB=256 ./boot checks::disk:: || code=1; \
    MSB_TEST_MEMORY_MIB=256 ./boot boot_several_staged_directories || code=1; \
    ./boot --ignored filesystems::boot_xfs_and_btrfs || code=1; \
    test $code = 0 || tail -n 100 home/sandboxes/*/console.log; exit $code";

/// Returns the tests that run under libkrun, in the KVM lab.
pub(crate) fn tests() -> Vec<Trial> {
    let life = "lab::boot_life_and_tree_under_libkrun";
    let machine = "lab::boot_machine_checks_under_libkrun";
    let disk = "lab::boot_disk_checks_under_libkrun";
    vec![
        harness::test(life, life_and_tree),
        harness::long_test(machine, machine_checks),
        harness::long_test(disk, disk_checks),
    ]
}

/// Runs the same program in the lab, with a copy of the store.
fn life_and_tree() -> Result<String> {
    let env = TestEnv::with_images("lab")?;
    let tree_dump = build::tree_dump()?;
    let outcome = run(&env, LIFE, &[(&tree_dump, "tree-dump")])?;
    let seen = tree(&outcome)?;
    let expected = guest_tree::of_host(&env, &tree_dump)?;
    trees::compare("umoci unpack", &expected, "the guest under libkrun", &seen)?;
    Ok(format!(
        "{}{} entries, {} outer starts",
        String::from_utf8_lossy(&outcome.stdout),
        expected.lines().count(),
        outcome.outer_starts
    ))
}

fn machine_checks() -> Result<String> {
    let env = TestEnv::with_images("lab-machine")?;
    let outcome = run(&env, MACHINE, &[])?;
    Ok(String::from_utf8_lossy(&outcome.stdout).into_owned())
}

fn disk_checks() -> Result<String> {
    let env = TestEnv::with_images("lab-disk")?;
    let images = env.work.join("disk-images");
    fs::create_dir_all(&images)?;
    disk_images::make_all(&images)?;
    let kernel = kernel::with_filesystems()?;
    let more = [
        (images.as_path(), "disk-images"),
        (&kernel, "kernel-with-filesystems"),
    ];
    let outcome = run(&env, DISK, &more)?;
    env.remove_work()?;
    Ok(format!(
        "{}{} outer starts",
        String::from_utf8_lossy(&outcome.stdout),
        outcome.outer_starts
    ))
}

/// Runs a script with this program, the msb under test and its store, and further files by their names.
fn run(env: &TestEnv, script: &str, more: &[(&Path, &str)]) -> Result<Outcome> {
    let program = std::env::current_exe()?;
    let store = fs::canonicalize(env.home().join("store"))?;
    let inputs = [
        (env.program.as_path(), "msb"),
        (&program, "boot"),
        (&env.kernel, "kernel"),
        (&store, "home/store"),
    ];
    let inputs = inputs.iter().chain(more);
    let script = format!("{ENVIRONMENT} {script}");
    let job = Job {
        inputs: inputs
            .map(|(path, name)| (path.to_path_buf(), (*name).to_owned()))
            .collect(),
        command: ["sh", "-c", &script, env.image()]
            .map(str::to_owned)
            .to_vec(),
        timeout: Duration::from_secs(3600),
        memory_mib: 3072,
        nested: true,
    };
    let outcome = Lab::prepare()?.run(&job)?;
    ensure!(
        outcome.code == 0,
        "the lab's job gave {}: {}{}",
        outcome.code,
        String::from_utf8_lossy(&outcome.stdout),
        String::from_utf8_lossy(&outcome.stderr)
    );
    Ok(outcome)
}

fn tree(outcome: &Outcome) -> Result<String> {
    fs::read_to_string(outcome.out.join("tree")).context("no tree came back")
}
