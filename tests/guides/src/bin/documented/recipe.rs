use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_fixtures::paths;

/// The number for `N` in the line of a document.
const COUNT: &str = "2";

/// A recipe that a document names.
#[derive(Debug)]
pub(super) struct Recipe {
    /// The line as the document has it, without a comment.
    pub(super) line: String,
}

impl Recipe {
    /// Returns the words of the command, with a number for `N`.
    pub(super) fn words(&self) -> Vec<String> {
        let words = self.line.split(' ');
        words
            .map(|word| if word == "N" { COUNT } else { word }.to_owned())
            .collect()
    }

    /// Runs the recipe with an empty home below `directory`. A recipe of tests must run one at least.
    pub(super) fn run(&self, directory: &Path) -> Result<()> {
        remove_programs()?;
        let home = directory.join("home");
        if home.exists() {
            fs::remove_dir_all(&home)
                .with_context(|| format!("cannot remove {}", home.display()))?;
        }
        let words = self.words();
        let (program, arguments) = words.split_first().context("an empty line")?;
        let output = Command::new(program)
            .args(arguments)
            .current_dir(paths::root())
            .env("MSB_HOME", &home)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot run {}", self.line))?;
        io::stdout().write_all(&output.stdout)?;
        ensure!(output.status.success(), "{}", output.status);
        if words.get(1).is_some_and(|word| word == "test") && !words.contains(&"--list".to_owned())
        {
            let run = tests_run(&String::from_utf8_lossy(&output.stdout));
            ensure!(run > 0, "the filter matches no test");
        }
        Ok(())
    }
}

/// Returns the number of tests that cargo's output says have passed.
fn tests_run(output: &str) -> usize {
    let results = output
        .lines()
        .filter(|line| line.starts_with("test result: "));
    results
        .filter_map(|line| {
            let (before, _) = line.split_once(" passed")?;
            before.rsplit(' ').next()?.parse::<usize>().ok()
        })
        .sum()
}

/// Removes the programs of the workspace that are built, so that a recipe has those alone which it builds itself.
/// Compiled crates stay: cargo knows which of them a recipe needs.
fn remove_programs() -> Result<()> {
    for profile in ["debug", "release"] {
        for directory in [profile.to_owned(), format!("{profile}/examples")] {
            let directory = paths::root().join("target").join(directory);
            let Ok(entries) = fs::read_dir(&directory) else {
                continue;
            };
            for entry in entries {
                let path = entry?.path();
                if path.is_file() {
                    fs::remove_file(&path)?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passed_tests_of_all_programs_are_counted() {
        let output = "running 0 tests\ntest result: ok. 0 passed; 0 failed; 0 ignored\n\
                      test result: ok. 12 passed; 0 failed; 3 ignored\ntest result: ok. 1 passed; 0 failed\n";
        assert_eq!(tests_run(output), 13);
        assert_eq!(tests_run(""), 0);
    }
}
