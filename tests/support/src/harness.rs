//! Tests that are registered by name, and run by `libtest-mimic` as `cargo test` runs others:
//! filters, `--list`, `--ignored` and `--test-threads` work.

use std::process::ExitCode;

use anyhow::Result;
pub use libtest_mimic::{Arguments, Trial, run as run_tests};
use libtest_mimic::{Completion, Failed};

/// The prefix of each system test's name.
/// `--skip '[system]'` skips these tests, and runs only the unit tests of their packages.
const KIND: &str = "system";

/// Returns a test that prints its findings, and its error with all causes.
#[expect(clippy::print_stdout, reason = "what a test found is its report")]
pub fn test(
    name: impl Into<String>,
    run: impl FnOnce() -> Result<String> + Send + 'static,
) -> Trial {
    let name = name.into();
    let label = name.clone();
    let test = Trial::test(name, move || match run() {
        Ok(found) => {
            if !found.is_empty() {
                println!("{label}: {found}");
            }
            Ok(())
        }
        Err(error) => Err(Failed::from(format!("{error:?}"))),
    });
    test.with_kind(KIND)
}

/// Returns a test that cannot run here, with the reason.
pub fn left_out(name: impl Into<String>, reason: String) -> Trial {
    let run = move || Ok(Completion::ignored_with(reason));
    let test = Trial::ignorable_test(name, run);
    test.with_kind(KIND).with_ignored_flag(true)
}

/// Returns a title as part of a test's name: lower-case letters, digits and underscores.
#[must_use]
pub fn name_of(title: &str) -> String {
    let title = title.to_lowercase().replace('\'', "");
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("_")
}

/// Runs the tests that this program's arguments select.
#[must_use]
pub fn run(tests: impl FnOnce(&Arguments) -> Vec<Trial>) -> ExitCode {
    let arguments = Arguments::from_args();
    let tests = tests(&arguments);
    libtest_mimic::run(&arguments, tests).exit_code()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_becomes_a_name() {
        assert_eq!(
            name_of("-e sets what's in the image's ENV, A=b"),
            "e_sets_whats_in_the_images_env_a_b"
        );
    }
}
