//! The release, installed as a new user would, into roots that hold nothing but a distribution.

mod debian;
mod red_hat;
mod root;

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use test_fixtures::command::step;
use test_fixtures::tools;

use crate::release::Release;

/// A distribution that the release is installed in.
pub(crate) struct Distribution {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// The work.
    check: fn(&Files) -> Result<()>,
}

/// The distributions. Red Hat's packages are not at hand, so the RPM package is installed into a
/// root without a distribution.
pub(crate) const ROOTS: [Distribution; 4] = [
    Distribution {
        name: "debian-12",
        check: |files| debian::check(files, "bookworm", ""),
    },
    Distribution {
        name: "debian-13",
        check: |files| debian::check(files, "trixie", ""),
    },
    Distribution {
        name: "debian-11",
        // Its setpriv reads /proc, which Landlock refuses. Its own kernel has no Landlock; the host's,
        // which the root shares, has.
        check: |files| debian::check(files, "bullseye", "MSB_JAIL=off"),
    },
    Distribution {
        name: "rpm",
        check: red_hat::check,
    },
];

/// The files of the release under test.
pub(crate) struct Files<'a> {
    release: &'a Release,
    directory: &'a Path,
}

impl Files<'_> {
    fn deb(&self) -> std::path::PathBuf {
        self.directory.join(crate::deb::file_name(self.release))
    }

    fn rpm(&self) -> std::path::PathBuf {
        self.directory
            .join(crate::rpm_package::file_name(self.release))
    }

    fn archive_name(&self) -> String {
        format!("{}.tar.gz", self.release.name())
    }
}

/// Installs the release of `directory` in the named distributions, or in all.
///
/// # Errors
/// The failures of all distributions.
pub(crate) fn run(release: &Release, directory: &Path, names: &[&str]) -> Result<()> {
    tools::install_for_releases()?;
    let files = Files { release, directory };
    let sums = directory.join(crate::content::SUMS);
    ensure!(
        sums.is_file(),
        "{} holds no release; make it with cargo xtask dist",
        directory.display()
    );
    let mut failed = Vec::new();
    let wanted = |each: &&Distribution| names.is_empty() || names.contains(&each.name);
    for each in ROOTS.iter().filter(wanted) {
        step(&format!("install msb in {}", each.name));
        match (each.check)(&files).with_context(|| format!("in {}", each.name)) {
            Ok(()) => crate::report(&format!("ok      {}", each.name)),
            Err(error) => {
                crate::report(&format!("FAILED  {}: {error:?}", each.name));
                failed.push(each.name);
            }
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}
