//! The tests of the workspace's crates, executed for arm64.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use test_fixtures::command::step;

use crate::toolchain::{TARGET, Toolchain};

/// The packages whose tests are not executed, and why.
const LEFT_OUT: [(&str, &str); 12] = [
    ("boot", "boots guests"),
    ("oracle", "runs other projects' programs on this host"),
    ("store", "runs msb on this host"),
    ("guides", "runs msb on this host"),
    ("xtask", "belongs to the host of a developer"),
    ("test-support", "belongs to the host of a developer"),
    ("test-fixtures", "belongs to the host of a developer"),
    ("kernel-build", "belongs to the host of a developer"),
    ("msb-dist", "belongs to the host of a developer"),
    ("msb-arm64", "belongs to the host of a developer"),
    ("msb-python", "needs Python for arm64"),
    ("msb-node", "needs Node.js for arm64"),
];

/// Builds and executes the tests, and prints how many passed.
///
/// # Errors
/// If one does not build or fails.
#[expect(clippy::print_stdout, reason = "the figures are the program's result")]
pub(crate) fn run(toolchain: &Toolchain) -> Result<()> {
    step("run the unit tests for arm64 under qemu-user");
    let mut tests = toolchain.cargo();
    tests
        .args(["test", "--workspace", "--locked", "--no-fail-fast"])
        .args(["--lib", "--bins", "--target", TARGET])
        .stderr(Stdio::inherit());
    for (package, _) in LEFT_OUT {
        tests.args(["--exclude", package]);
    }
    let output = tests.output().context("cannot run cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    let (passed, failed) = counted(&text);
    println!("{passed} unit tests passed for arm64, {failed} failed");
    ensure!(
        output.status.success(),
        "cargo ended with {}",
        output.status
    );
    Ok(())
}

/// Returns the numbers of tests that passed and failed in the output of `cargo test`.
fn counted(text: &str) -> (u32, u32) {
    let results = text
        .lines()
        .filter_map(|line| line.strip_prefix("test result: "));
    results.fold((0, 0), |(passed, failed), line| {
        let count = |kind: &str| {
            let mut parts = line.split([';', '.']).map(str::trim);
            let number = parts.find_map(|part| part.strip_suffix(kind)?.trim().parse().ok());
            number.unwrap_or(0)
        };
        (passed + count("passed"), failed + count("failed"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_added_up() {
        let text = "running 3 tests\ntest a ... ok\n\
            test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
            test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured\n";
        assert_eq!(counted(text), (7, 2));
    }
}
