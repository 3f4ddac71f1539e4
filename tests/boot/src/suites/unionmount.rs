use std::collections::BTreeSet;
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
            let failed: BTreeSet<String> = guest.sh(&script)?.lines().map(str::to_owned).collect();
            let runs = 2 * tests.len();
            figures.push(format!("{name} {} of {runs} ok", runs - failed.len()));
            differences.extend(expected::differences(name, &BTreeSet::new(), &failed));
        }
        Ok(Outcome {
            figures: figures.join("; "),
            differences,
        })
    }
}
