//! The identity of a release.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use test_fixtures::command::quiet;

/// The target of the programs.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The oldest glibc that the programs run with.
pub(crate) const GLIBC: &str = "2.28";
/// The page of the project.
pub(crate) const HOMEPAGE: &str = env!("CARGO_PKG_REPOSITORY");
/// The maintainer that packages name.
pub(crate) const MAINTAINER: &str = concat!(
    "The maintainers of msb <",
    env!("CARGO_PKG_REPOSITORY"),
    ">"
);
/// The licences of everything that msb's own packages contain, apart from the libraries.
pub(crate) const LICENCES: &str = "Apache-2.0 AND GPL-2.0-only AND LGPL-2.1-or-later";
/// The description in one line.
pub(crate) const SUMMARY: &str = "Run any OCI image in a microVM";
/// The description in some lines of text.
pub(crate) const DESCRIPTION: &str = "\
msb runs the image of a container in a virtual machine with its own kernel,
without a daemon and without root. It uses KVM if the host has it, and QEMU's
emulation if it has not.

The package contains the kernel that sandboxes boot.";

/// A release: everything about it that is not in its files.
#[derive(Debug, Clone)]
pub(crate) struct Release {
    /// The version, such as `0.1.0`.
    pub(crate) version: String,
    /// The time that every file has, in seconds since 1970.
    pub(crate) epoch_s: u64,
}

impl Release {
    /// Returns the release of a working tree. Its time is `SOURCE_DATE_EPOCH`, or that of the last
    /// commit.
    ///
    /// # Errors
    /// If `SOURCE_DATE_EPOCH` is not a number, or the tree has no commit and no such variable.
    pub(crate) fn of_tree(root: &Path) -> Result<Self> {
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            epoch_s: epoch_s(root)?,
        })
    }

    /// Returns the name of the archive's only directory, and of its file without the ending.
    pub(crate) fn name(&self) -> String {
        format!("msb-{}-x86_64-linux", self.version)
    }

    #[cfg(test)]
    pub(crate) fn of_tests() -> Self {
        Self {
            version: "1.2.3".to_owned(),
            epoch_s: 1_700_000_000,
        }
    }
}

fn epoch_s(root: &Path) -> Result<u64> {
    if let Some(text) = std::env::var_os("SOURCE_DATE_EPOCH").filter(|text| !text.is_empty()) {
        let text = text.to_string_lossy();
        return text.parse().with_context(|| {
            format!("SOURCE_DATE_EPOCH is '{text}', which is not a number of seconds since 1970")
        });
    }
    let mut git = Command::new("git");
    let output = quiet(git.current_dir(root).args(["log", "-1", "--format=%ct"]))
        .context("cannot find the time of the last commit; set SOURCE_DATE_EPOCH")?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text.trim().parse()?)
}
