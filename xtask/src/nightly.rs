//! The checks that are too long for `.ci/run`, one after the other.

use std::process::Command;

use anyhow::Result;
use test_fixtures::command::shown;

use crate::test::one_after_the_other;

/// The command lines of the recipes, without `cargo xtask`, the shorter ones first. `.ci/run` has a short form of
/// those without a comment.
const LINES: [&str; 29] = [
    // Not in .ci/run: it fetches cargo-deny.
    "deny",
    // Not in .ci/run, which replays the corpus: libFuzzer needs nightly Rust.
    "fuzz --seconds 60",
    "three-trees",
    "ext4",
    "erofs --sizes",
    "engines --sequences 10000",
    "fidelity --large",
    "determinism",
    "flips",
    "fulldisk",
    "faults",
    "stress",
    "attacks",
    "docker",
    "guest-changes",
    "gallery",
    "lab-checks",
    // Not in .ci/run: they repeat for long what its checks do once.
    "crashes",
    "cycles",
    "crowd",
    // Not in .ci/run: other projects' suites.
    "suites",
    // Not in .ci/run: the frameworks take a gigabyte, and their samples boot dozens of guests.
    "adapters",
    // Not in .ci/run: it fetches 400 MB, and installs them in an emulated guest.
    "long-guides",
    "sdk --long",
    "kills",
    "powercut",
    // Not in .ci/run: a build for another processor, and a release in empty roots.
    "arm64",
    "dist",
    "dist --check",
];

/// Runs every recipe, continues after one that fails, and fails at the end.
pub(crate) fn run() -> Result<()> {
    let program = std::env::current_exe()?;
    let recipe = |line: &&str| shown(Command::new(&program).args(line.split(' ')));
    one_after_the_other("nightly", &LINES, |line| line, recipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_recipe_with_its_options() {
        for line in LINES {
            let words = ["xtask"].into_iter().chain(line.split(' '));
            if let Err(error) = crate::recipes::line().try_get_matches_from(words) {
                panic!("{line}: {error}");
            }
        }
    }
}
