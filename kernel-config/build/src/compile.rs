//! The compilation of a configured source tree.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use test_fixtures::command::quiet;

use crate::architecture::Architecture;

/// The identity that the kernel reports in `/proc/version`. The clock, the user and the host of the
/// build are not in it, so the same inputs give the same bytes.
pub(crate) const VARIABLES: [(&str, &str); 4] = [
    ("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 1970"),
    ("KBUILD_BUILD_USER", "msb"),
    ("KBUILD_BUILD_HOST", "msb"),
    ("KBUILD_BUILD_VERSION", "1"),
];

/// Returns the versions of the compiler and the linker, which the kernel's bytes depend on.
///
/// # Errors
/// If one of them cannot be run.
pub(crate) fn toolchain(architecture: &Architecture) -> Result<String> {
    let mut versions = String::new();
    for program in ["gcc", "ld"] {
        let output = quiet(Command::new(architecture.tool(program)).arg("--version"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        versions.push_str(text.lines().next().unwrap_or_default());
        versions.push('\n');
    }
    Ok(versions)
}

/// Compiles a patched and configured tree and returns the kernel that VMMs boot, without symbols.
///
/// # Errors
/// If the compilation fails; the error has the compiler's messages.
pub(crate) fn kernel(architecture: &Architecture, tree: &Path) -> Result<Vec<u8>> {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    quiet(
        Command::new("make")
            .current_dir(tree)
            .envs(VARIABLES)
            .args(architecture.make_variables())
            .args(["--silent", &format!("--jobs={jobs}"), architecture.kernel]),
    )?;
    let built = architecture.built(tree);
    if !architecture.has_symbols() {
        return read(&built);
    }
    let stripped = tree.join("vmlinux.stripped");
    quiet(
        Command::new(architecture.tool("strip"))
            .args(["--strip-all", "-o"])
            .args([&stripped, &built]),
    )?;
    read(&stripped)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Applies an architecture's patches to a freshly unpacked tree.
///
/// # Errors
/// If one does not fit.
pub(crate) fn patch(architecture: &Architecture, tree: &Path) -> Result<()> {
    if architecture.patches.is_empty() {
        return Ok(());
    }
    let mut patch = Command::new("patch")
        .current_dir(tree)
        // A patch that fits only nearly is not the one that was read and tried.
        .args(["--strip=1", "--fuzz=0", "--batch", "--silent"])
        .stdin(Stdio::piped())
        .spawn()
        .context("cannot run patch")?;
    let mut input = patch.stdin.take().context("patch has an input")?;
    for (_, patch) in architecture.patches {
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
