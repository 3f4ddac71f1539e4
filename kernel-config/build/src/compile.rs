//! The compilation of a configured source tree.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use test_fixtures::command::quiet;

/// The identity that the kernel reports in `/proc/version`. The clock, the user and the host of the
/// build are not in it, so the same inputs give the same bytes.
pub(crate) const VARIABLES: [(&str, &str); 4] = [
    ("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 1970"),
    ("KBUILD_BUILD_USER", "msb"),
    ("KBUILD_BUILD_HOST", "msb"),
    ("KBUILD_BUILD_VERSION", "1"),
];

/// The patches by which msb's kernel differs from Debian's source. Each says what it is for.
pub(crate) const PATCHES: [(&str, &str); 5] = [
    (
        "patches/data-hole.patch",
        include_str!("../patches/data-hole.patch"),
    ),
    (
        "patches/file-alignment.patch",
        include_str!("../patches/file-alignment.patch"),
    ),
    ("patches/halt.patch", include_str!("../patches/halt.patch")),
    (
        "patches/lapic-timer.patch",
        include_str!("../patches/lapic-timer.patch"),
    ),
    (
        "patches/virtio-queue-size.patch",
        include_str!("../patches/virtio-queue-size.patch"),
    ),
];

/// The name of this way to compile. It changes together with this file, so that no kernel of the
/// earlier way is taken from the cache.
pub(crate) const IDENTITY: &str = "vmlinux-3";

/// Returns the versions of the compiler and the linker, which the kernel's bytes depend on.
///
/// # Errors
/// If one of them cannot be run.
pub(crate) fn toolchain() -> Result<String> {
    let mut versions = String::new();
    for program in ["gcc", "ld"] {
        let output = quiet(Command::new(program).arg("--version"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        versions.push_str(text.lines().next().unwrap_or_default());
        versions.push('\n');
    }
    Ok(versions)
}

/// Compiles a patched and configured tree and returns the stripped `vmlinux`.
///
/// # Errors
/// If the compilation fails; the error has the compiler's messages.
pub(crate) fn vmlinux(tree: &Path) -> Result<Vec<u8>> {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    quiet(
        Command::new("make")
            .current_dir(tree)
            .envs(VARIABLES)
            .args(["--silent", &format!("--jobs={jobs}"), "vmlinux"]),
    )?;
    let stripped = tree.join("vmlinux.stripped");
    quiet(
        Command::new("strip")
            .current_dir(tree)
            .args(["--strip-all", "-o"])
            .arg(&stripped)
            .arg("vmlinux"),
    )?;
    fs::read(&stripped).with_context(|| format!("cannot read {}", stripped.display()))
}

/// Applies the patches to a freshly unpacked tree.
///
/// # Errors
/// If one does not fit.
pub(crate) fn patch(tree: &Path) -> Result<()> {
    let mut patch = Command::new("patch")
        .current_dir(tree)
        // A patch that fits only nearly is not the one that was read and tried.
        .args(["--strip=1", "--fuzz=0", "--batch", "--silent"])
        .stdin(Stdio::piped())
        .spawn()
        .context("cannot run patch")?;
    let mut input = patch.stdin.take().context("patch has an input")?;
    for (_, patch) in PATCHES {
        input.write_all(patch.as_bytes())?;
    }
    drop(input);
    let status = patch.wait()?;
    ensure!(
        status.success(),
        "the patches do not fit the source: {status}"
    );
    Ok(())
}
