use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Result, ensure};

use super::guest::{Filesystem, Guest};
use super::{InGuest, Outcome, expected, programs};

/// The ways to run the suite. It runs on a plain directory of the root, and on an overlay that it
/// mounts itself with the options of msb's root, over directories of the volume.
const WAYS: [(&str, Filesystem, &str); 2] = [
    ("root", Filesystem::Root, "--no"),
    ("overlay", Filesystem::Volume, "--ov --xino --meta --verify"),
];

/// The overlayfs maintainers' test suite.
pub(super) struct Unionmount;

impl InGuest for Unionmount {
    fn prepare(directory: &Path) -> Result<()> {
        let checkout = super::named(super::UNIONMOUNT)?;
        ensure!(
            checkout.join("run").is_file(),
            "{} has no program run",
            checkout.display()
        );
        programs::copy_tree(&checkout, &directory.join("unionmount"))
    }

    fn run(guest: &Guest<'_>) -> Result<Outcome> {
        // The suite writes beside itself, and `/suites` is read-only.
        guest.sh("cp -a /suites/unionmount /srv/unionmount")?;
        let tests = guest.sh("cd /srv/unionmount/tests && ls | sed -n 's/\\.py$//p'")?;
        let tests: Vec<&str> = tests
            .lines()
            .filter(|name| *name != "rename-exdev")
            .collect();
        ensure!(tests.len() > 40, "the suite has {} tests", tests.len());
        let expected = expected::names("unionmount.txt")?;
        let mut figures = Vec::new();
        let mut differences = Vec::new();
        for (name, filesystem, options) in WAYS {
            let base = format!("{}/union-{name}", filesystem.directory());
            guest.sh(&format!("mkdir -p {base}"))?;
            // One call runs all tests: the guest prints the failures.
            let script = format!(
                "cd /srv/unionmount && for test in {}; do for slash in 0 1; do \
                 UNIONMOUNT_BASEDIR={base} ./run {options} --ts=$slash $test > /tmp/said 2>&1 || \
                 echo \"$test --ts=$slash: $(tail -n 1 /tmp/said)\"; done; done",
                tests.join(" ")
            );
            let failed = failed_runs(&guest.sh(&script)?);
            let runs = 2 * tests.len();
            figures.push(format!("{name} {} of {runs} ok", runs - failed.len()));
            differences.extend(unexpected(name, &expected, &failed));
        }
        Ok(Outcome {
            figures: figures.join("; "),
            differences,
        })
    }
}

/// Returns the failed runs, each as `TEST --ts=0` or `TEST --ts=1`, with their last messages.
fn failed_runs(text: &str) -> BTreeMap<String, String> {
    let runs = text.lines().map(|line| {
        let (run, message) = line.split_once(": ").unwrap_or((line, ""));
        (run.to_owned(), message.to_owned())
    });
    runs.collect()
}

/// Returns the differences from the expected failures, each new failure with its message.
fn unexpected(
    place: &str,
    expected: &BTreeSet<String>,
    failed: &BTreeMap<String, String>,
) -> Vec<String> {
    let runs: BTreeSet<String> = failed.keys().cloned().collect();
    let mut differences = expected::differences(place, expected, &runs);
    let new = failed.iter().filter(|(run, _)| !expected.contains(*run));
    differences.extend(new.map(|(run, message)| format!("{place}: {run}: {message}")));
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_fails_on_every_filesystem_is_expected_to() {
        let expected = expected::names("unionmount.txt").expect("a list");
        // The suite's own words on Linux 6.18, on tmpfs.
        let text = "dir-weird-open-dir --ts=1: /base/m/a/dir100/: Unexpected error (expecting Is a \
            directory): Invalid argument\n";
        let failed = failed_runs(text);
        assert!(unexpected("root", &expected, &failed).is_empty());
        let other = failed_runs("hard-link --ts=0: /base/m/a: wrong link count\n");
        assert_eq!(
            unexpected("root", &expected, &other),
            [
                "root: hard-link --ts=0 failed and is not expected to",
                "root: dir-weird-open-dir --ts=1 is expected to fail and did not",
                "root: hard-link --ts=0: /base/m/a: wrong link count",
            ]
        );
    }
}
