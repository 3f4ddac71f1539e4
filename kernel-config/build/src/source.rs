//! The kernel's source, as Debian packages it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use test_fixtures::command::{quiet, step};
use test_fixtures::debian_package::{self, DebianPackage};
use test_fixtures::paths;

/// The name of the package.
pub(crate) const PACKAGE: &str = "linux-source-6.12";

/// The suite that a security update of the kernel reaches first. It keeps some earlier versions.
const SUITE: &str = "http://deb.debian.org/debian-security bookworm-security main";

/// The place of the source's archive in the package.
pub(crate) const ARCHIVE: &str = "usr/src/linux-source-6.12.tar.xz";

/// The file of `kernel-config` that pins the source.
const PIN: &str = "source.json";

/// The version of the package that the kernel is built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pin {
    pub(crate) version: String,
    /// The SHA-256 of the source's archive in the package.
    pub(crate) sha256: String,
}

impl Pin {
    /// Reads the pin of a `kernel-config` directory.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn read(directory: &Path) -> Result<Self> {
        let path = directory.join(PIN);
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} is no pin", path.display()))
    }

    /// Writes the pin of a `kernel-config` directory.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write(&self, directory: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        fs::write(directory.join(PIN), text + "\n")?;
        Ok(())
    }

    /// Returns the newest version that Debian offers. apt checks that Debian signed it.
    ///
    /// # Errors
    /// If the package cannot be fetched.
    pub(crate) fn newest() -> Result<Self> {
        step("fetch the newest source of the guest kernel");
        let package = Package::fetch(None)?;
        Ok(Self {
            version: package.version()?,
            sha256: sha256(&package.archive()?)?,
        })
    }
}

/// Returns the root of a freshly unpacked source tree.
///
/// # Errors
/// If the package cannot be fetched or its archive is not the pinned one.
pub(crate) fn unpack(pin: &Pin) -> Result<PathBuf> {
    step(&format!(
        "fetch and unpack the source of the guest kernel, {}",
        pin.version
    ));
    let package = Package::fetch(Some(&pin.version)).with_context(|| {
        format!(
            "cannot fetch {PACKAGE} {}; if Debian no longer offers it, `cargo xtask kernel-build \
             --update` moves to the newest version",
            pin.version
        )
    })?;
    let archive = package.archive()?;
    let found = sha256(&archive)?;
    ensure!(
        found == pin.sha256,
        "{} has the SHA-256 {found}, the pinned one is {}",
        archive.display(),
        pin.sha256
    );
    let tree = package.directory.join("linux");
    fs::create_dir(&tree)?;
    quiet(
        Command::new("tar")
            .args(["--strip-components=1", "-C"])
            .arg(&tree)
            .arg("-xf")
            .arg(&archive),
    )?;
    Ok(tree)
}

/// A fetched package.
struct Package {
    path: PathBuf,
    directory: PathBuf,
}

impl Package {
    /// Fetches a version; the newest one if it is `None`.
    fn fetch(version: Option<&str>) -> Result<Self> {
        let directory = paths::scratch("kernel-build")?;
        let package = DebianPackage {
            suite: SUITE,
            name: PACKAGE,
            version,
        };
        let path = debian_package::download(&package, &directory)?;
        Ok(Self { path, directory })
    }

    fn version(&self) -> Result<String> {
        let mut field = Command::new("dpkg-deb");
        let output = quiet(field.arg("--field").arg(&self.path).arg("Version"))?;
        Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
    }

    /// Returns the source's archive, after the package was opened.
    fn archive(&self) -> Result<PathBuf> {
        let opened = self.directory.join("package");
        quiet(
            Command::new("dpkg-deb")
                .arg("-x")
                .args([&self.path, &opened]),
        )?;
        Ok(opened.join(ARCHIVE))
    }
}

fn sha256(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(hex::encode(Sha256::digest(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_read_as_it_was_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let pin = Pin {
            version: "6.12.1-1".to_owned(),
            sha256: "00".repeat(32),
        };
        pin.write(directory.path()).expect("written");
        assert_eq!(Pin::read(directory.path()).expect("read"), pin);
    }

    #[test]
    fn the_pin_of_the_repository_is_readable() {
        let pin = Pin::read(&paths::root().join("kernel-config")).expect("read");
        assert_eq!(pin.sha256.len(), 64);
    }
}
