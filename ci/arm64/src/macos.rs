//! Type checks for macOS, of the crates that need no C code and no calls of Linux.
//!
//! The standard library is checked from its source, because no package has it for macOS. Nothing is
//! linked and nothing runs.

use anyhow::{Result, ensure};
use test_fixtures::command::step;
use test_fixtures::paths;

use crate::toolchain::Toolchain;

/// The targets.
const TARGETS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-apple-darwin"];

/// The packages that are checked: disk formats, layers and images as values, and files. The others
/// call Linux (`generations` and `tree-archive` among them), are built from such a package, or compile
/// C code with Apple's headers.
const PACKAGES: [&str; 13] = [
    "durable-files",
    "erofs-writer",
    "ext4-writer",
    "filesystem-tree",
    "guest-kernel",
    "oci-image",
    "oci-layers",
    "rootfs-view",
    "served-disk",
    "tar-stream",
    "terminal-text",
    "tree-diff",
    "vmdk",
];

/// Checks the packages for both targets.
///
/// # Errors
/// If one has an error.
pub(crate) fn check(toolchain: &Toolchain) -> Result<()> {
    for target in TARGETS {
        step(&format!("check {} packages for {target}", PACKAGES.len()));
        let mut check = toolchain.cargo();
        check
            .env("RUSTC_BOOTSTRAP", "1")
            // The standard library of each target is checked beside the packages.
            .env("CARGO_TARGET_DIR", paths::root().join("target/macos"))
            .args(["check", "--locked", "--keep-going"])
            .arg("-Zbuild-std=std,panic_abort,panic_unwind")
            .args(["--target", target]);
        for package in PACKAGES {
            check.args(["--package", package]);
        }
        let status = check.status()?;
        ensure!(status.success(), "cargo check for {target} gave {status}");
    }
    Ok(())
}
