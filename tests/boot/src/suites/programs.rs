use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use fs_err as fs;

use test_fixtures::command::{quiet, step};
use test_fixtures::{build, paths};

/// Puts the program of a crate into `directory`; it is built the first time.
pub(super) fn bring(name: &str, version: &str, directory: &Path) -> Result<()> {
    let program = installed(name, version)?;
    copy(&program, &directory.join(name))
}

/// Copies a program of this host to the path `to`.
pub(super) fn copy(program: &Path, to: &Path) -> Result<()> {
    fs::copy(program, to)?;
    Ok(())
}

/// Copies the whole directory `from` into `to`.
pub(super) fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    quiet(Command::new("cp").arg("-a").args([from, to]))?;
    Ok(())
}

/// Returns a program of a published crate, in the version that the expected results were made with.
fn installed(name: &str, version: &str) -> Result<PathBuf> {
    let root = paths::kept(&format!("suites/{name}-{version}"))?;
    let program = root.join("bin").join(name);
    if program.exists() {
        return Ok(program);
    }
    step(&format!("install {name} {version}"));
    quiet(
        build::cargo()
            .args(["install", "--quiet", "--locked"])
            .args([name, "--version", version])
            .arg("--root")
            .arg(&root),
    )
    .with_context(|| format!("cannot install {name} {version}"))?;
    Ok(program)
}
