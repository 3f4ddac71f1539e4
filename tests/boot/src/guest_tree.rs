use std::path::Path;

use anyhow::{Result, ensure};
use fs_err as fs;
use test_fixtures::{build, images};
use test_support::harness::Trial;
use test_support::{TestEnv, describe, trees};

use crate::trial::boot_found;

/// Copies a program into the guest through standard input, and prints the root's tree with it. The
/// tree is the root's own, without the mounts over it.
const GUEST_DUMP: &str = "set -e; cd /dev/shm; mkdir tree; mount --bind / tree; \
    cat > tree-dump; chmod 755 tree-dump; mount -o remount,exec /dev/shm; ./tree-dump tree";

/// The directory that no image has, and each guest.
const AGENTS_DIRECTORY: &str = "/run/msb";

/// Returns the comparison of the image's trees.
pub(crate) fn tests() -> Vec<Trial> {
    let title = "the guest's tree equals umoci's and the host's";
    vec![boot_found("tree", title, compare)]
}

fn compare(env: &TestEnv) -> Result<String> {
    let tree_dump = build::tree_dump()?;
    let expected = of_host(env, &tree_dump)?;
    let seen = of_guest(env, &tree_dump)?;
    trees::compare("umoci unpack", &expected, "the guest", &seen)?;
    Ok(format!("{} entries", expected.lines().count()))
}

/// Returns the image's tree as `umoci` and the host's kernel show it.
pub(crate) fn of_host(env: &TestEnv, tree_dump: &Path) -> Result<String> {
    let (msb, layout) = (env.home_msb(), images::demo()?);
    trees::host_tree(&msb, env.image(), &layout, tree_dump, &env.work)
}

/// Returns the image's tree as a guest sees it.
pub(crate) fn of_guest(env: &TestEnv, tree_dump: &Path) -> Result<String> {
    let output = env.run_with_input(
        &["-i", "--network", "none"],
        &["sh", "-c", GUEST_DUMP],
        &fs::read(tree_dump)?,
    )?;
    ensure!(
        output.status.success(),
        "tree-dump in the guest: {}",
        describe(&output)
    );
    let tree = String::from_utf8(output.stdout)?;
    let own = tree.lines().filter(|line| is_of_agent(line)).count();
    ensure!(own == 1, "{own} lines are of {AGENTS_DIRECTORY}");
    let lines = tree.lines().filter(|line| !is_of_agent(line));
    Ok(lines.map(|line| format!("{line}\n")).collect())
}

/// Returns true if a line is that of the directory on which the agent has its own mounts.
fn is_of_agent(line: &str) -> bool {
    line.split(' ').next() == Some(AGENTS_DIRECTORY)
}
