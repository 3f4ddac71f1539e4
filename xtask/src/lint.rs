use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};

use test_fixtures::build::cargo;
use test_fixtures::command::{quiet, shown, step};
use test_fixtures::paths;

use crate::layers;

/// The length limit of production files, in lines.
const FILE_MAX_LINES: usize = 500;

/// Runs every check that does not run msb.
pub(crate) fn run() -> Result<()> {
    of_sources()?;
    clippy()
}

/// Runs the checks that need no compiler.
pub(crate) fn of_sources() -> Result<()> {
    step("lint: format");
    shown(cargo().args(["fmt", "--all", "--check"]))?;
    step("lint: dependency direction");
    layers::check()?;
    step("lint: file sizes");
    file_sizes()
}

/// Lets clippy judge every target; a warning is an error.
pub(crate) fn clippy() -> Result<()> {
    step("lint: clippy");
    let clippy = [
        "clippy",
        "--quiet",
        "--workspace",
        "--all-targets",
        "--locked",
    ];
    shown(cargo().args(clippy).args(["--", "-D", "warnings"]))
}

/// Checks licences, sources and duplicates. The advisory database lies outside the package
/// registries and is used only if it can be reached.
pub(crate) fn deny() -> Result<()> {
    let installed = quiet(cargo().args(["deny", "--version"])).is_ok();
    if !installed {
        step("install cargo-deny");
        shown(cargo().args(["install", "--locked", "cargo-deny"]))?;
    }
    shown(cargo().args(["deny", "check", "bans", "licenses", "sources"]))
}

fn file_sizes() -> Result<()> {
    let mut directories = ["crates", "tests", "xtask", "bench", "sdk"]
        .map(|name| paths::root().join(name))
        .to_vec();
    let mut long = Vec::new();
    let mut files = 0;
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() && !is_test_directory(&path) {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files += 1;
                let lines = production_lines(&path)?;
                if lines > FILE_MAX_LINES {
                    long.push((path, lines));
                }
            }
        }
    }
    ensure!(files > 0, "no source files found");
    if !long.is_empty() {
        bail!("files over {FILE_MAX_LINES} production lines: {long:?}");
    }
    Ok(())
}

fn is_test_directory(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name == "tests" || name == "target" || name == "node_modules")
}

/// Returns the number of lines before the file's own tests.
fn production_lines(path: &PathBuf) -> Result<usize> {
    let text = fs::read_to_string(path)?;
    Ok(text
        .lines()
        .take_while(|line| *line != "#[cfg(test)]")
        .count())
}
