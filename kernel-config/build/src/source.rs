//! The kernel's source, as Debian packages it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};
use test_fixtures::command::{quiet, step};
use test_fixtures::debian_package::{self, DebianPackage};
use test_fixtures::paths;

const PACKAGE: DebianPackage<'static> = DebianPackage {
    // The suite that a security update of the kernel reaches first.
    suite: "http://deb.debian.org/debian-security bookworm-security main",
    name: "linux-source-6.12",
    version: Some("6.12.117-1~deb12u1"),
};

/// The digest of the package's archive of the source. It moves together with the version.
pub(crate) const SHA256: &str = "585a4a074597aefa2b1a68ada83a3184ba351c127544dea80618bbcceaa3961f";

/// The place of the archive in the package.
const ARCHIVE: &str = "usr/src/linux-source-6.12.tar.xz";

/// Returns the root of a freshly unpacked source tree.
///
/// # Errors
/// If the package cannot be fetched or its archive is not the pinned one.
pub(crate) fn unpack() -> Result<PathBuf> {
    step("fetch and unpack the source of the guest kernel (package linux-source-6.12)");
    let directory = paths::scratch("kernel-build")?;
    let package = debian_package::download(&PACKAGE, &directory)?;
    let opened = directory.join("package");
    quiet(Command::new("dpkg-deb").arg("-x").args([&package, &opened]))?;
    let archive = opened.join(ARCHIVE);
    let found = sha256(&archive)?;
    ensure!(
        found == SHA256,
        "{} has the SHA-256 {found}, the pinned one is {SHA256}",
        archive.display()
    );
    let tree = directory.join("linux");
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

fn sha256(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(hex::encode(Sha256::digest(bytes)))
}
