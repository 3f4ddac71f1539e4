//! The bounds of files and crates.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use test_fixtures::paths;

/// The length limit of production files, in lines.
const FILE_MAX_LINES: usize = 500;
/// The size limit of a crate's `src`, in lines, its unit tests included.
const CRATE_MAX_LINES: usize = 12_000;

/// Checks that no file and no crate is over the limit.
pub(crate) fn check() -> Result<()> {
    let mut faults = files()?;
    for folder in fs::read_dir(paths::root().join("crates"))? {
        let folder = folder?;
        let name = folder.file_name().to_string_lossy().into_owned();
        let lines = lines_below(&folder.path().join("src"))?;
        if lines > CRATE_MAX_LINES {
            faults.push(format!(
                "crates/{name} has {lines} lines, and may have {CRATE_MAX_LINES}"
            ));
        }
    }
    if !faults.is_empty() {
        bail!("too large:\n  {}", faults.join("\n  "));
    }
    Ok(())
}

/// Returns the number of lines of all Rust files below a directory, without build output; 0 if it does not
/// exist.
pub(crate) fn lines_below(directory: &Path) -> Result<usize> {
    let mut lines = 0;
    for file in sources(directory)? {
        lines += fs::read_to_string(file)?.lines().count();
    }
    Ok(lines)
}

/// Returns the Rust files below a directory in the order of their paths, without build output.
pub(crate) fn sources(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        if !directory.is_dir() {
            continue;
        }
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                let is_output = ["target", "node_modules"]
                    .iter()
                    .any(|name| path.ends_with(name));
                directories.extend((!is_output).then_some(path));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Returns a line for each file over the limit.
fn files() -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut count = 0;
    for directory in ["crates", "tests", "xtask", "bench", "sdk"] {
        for path in sources(&paths::root().join(directory))? {
            let is_of_tests = path.ancestors().any(|above| {
                // The packages below `tests` are held to the limit too.
                above.ends_with("tests") && above != paths::root().join("tests")
            });
            if is_of_tests {
                continue;
            }
            count += 1;
            let lines = production_lines(&fs::read_to_string(&path)?);
            if lines > FILE_MAX_LINES {
                faults.push(format!(
                    "{} has {lines} production lines, and may have {FILE_MAX_LINES}",
                    path.display()
                ));
            }
        }
    }
    ensure!(count > 0, "no source files found");
    Ok(faults)
}

/// Returns the number of lines before the file's own tests.
fn production_lines(text: &str) -> usize {
    let lines = text.lines();
    lines.take_while(|line| *line != "#[cfg(test)]").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_a_file_are_not_counted() {
        assert_eq!(
            production_lines("fn a() {}\n\n#[cfg(test)]\nmod tests {}\n"),
            2
        );
    }
}
