use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_fixtures::build;
use test_support::harness::Trial;
use test_support::lab::{Job, Lab, Outcome};
use test_support::{TestEnv, harness, trees};

use crate::guest_tree;

/// Runs the walk and the checks that depend on the VMM in the lab, then prints the guest's tree.
const SCRIPT: &str = "export MSB_HOME=/job/home MSB_KERNEL=/job/kernel MSB_TEST_MSB=/job/msb \
    MSB_TEST_IMAGE=\"$0\" MSB_TEST_VMM=krun MSB_TEST_WORK=/job/work MSB_TEST_BOOT_TIMEOUT_S=90 \
    MSB_TEST_GUESTS=1; \
    ./boot walk:: && MSB_TEST_MEMORY_MIB=256 ./boot checks::machine:: && ./boot --guest-tree ./tree-dump > out/tree";

/// Returns the tests that run under libkrun, in the KVM lab.
pub(crate) fn tests() -> Vec<Trial> {
    let name = "lab::boot_life_checks_and_tree_under_libkrun";
    vec![harness::test(name, under_libkrun)]
}

/// Runs the same program in the lab, with a copy of the store.
fn under_libkrun() -> Result<String> {
    let env = TestEnv::with_images("lab")?;
    let tree_dump = build::tree_dump()?;
    let input = |path: &Path, name: &str| (path.to_owned(), name.to_owned());
    let job = Job {
        inputs: vec![
            input(&env.program, "msb"),
            input(&std::env::current_exe()?, "boot"),
            input(&tree_dump, "tree-dump"),
            input(&env.kernel, "kernel"),
            input(&fs::canonicalize(env.home().join("store"))?, "home/store"),
        ],
        command: ["sh", "-c", SCRIPT, env.image()]
            .map(str::to_owned)
            .to_vec(),
        timeout: Duration::from_secs(3600),
        memory_mib: 3072,
        nested: true,
    };
    let outcome = Lab::prepare()?.run(&job)?;
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

fn tree(outcome: &Outcome) -> Result<String> {
    ensure!(
        outcome.code == 0,
        "the lab's job gave {}: {}{}",
        outcome.code,
        String::from_utf8_lossy(&outcome.stdout),
        String::from_utf8_lossy(&outcome.stderr)
    );
    fs::read_to_string(outcome.out.join("tree")).context("no tree came back")
}
