//! Tests that are registered by name, and run by `libtest-mimic` as `cargo test` runs others:
//! filters, `--list`, `--ignored` and `--test-threads` work.

use std::panic::resume_unwind;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Error, Result, bail};
pub use libtest_mimic::{Arguments, Trial, run as run_tests};
use libtest_mimic::{Completion, Failed};

use crate::settings;

/// The prefix of each system test's name.
/// `--skip '[system]'` skips these tests, and runs only the unit tests of their packages.
const KIND: &str = "system";
/// The default time limit of a test, in seconds. It includes the wait for a slot, and is several times
/// what the longest short test takes on two busy cores.
const LIMIT_S: u64 = 1500;
/// The default time limit of a test that runs only on request, in seconds. Such a test may compile what it
/// needs, and those in the KVM lab boot guests within a guest.
const LONG_LIMIT_S: u64 = 4 * 3600;
/// The duration from which a test's time is printed.
const SLOW: Duration = Duration::from_secs(15);

/// Returns a test that prints its findings, and its error with all causes. A test that exceeds
/// the time limit fails; its thread runs until this program ends.
pub fn test(
    name: impl Into<String>,
    run: impl FnOnce() -> Result<String> + Send + 'static,
) -> Trial {
    limited(name.into(), LIMIT_S, run)
}

/// Returns a test as [`test`] does, which takes so long that it runs only on request.
pub fn long_test(
    name: impl Into<String>,
    run: impl FnOnce() -> Result<String> + Send + 'static,
) -> Trial {
    limited(name.into(), LONG_LIMIT_S, run).with_ignored_flag(true)
}

#[expect(clippy::print_stdout, reason = "what a test found is its report")]
fn limited(
    name: String,
    limit_s: u64,
    run: impl FnOnce() -> Result<String> + Send + 'static,
) -> Trial {
    let label = name.clone();
    let test = Trial::test(name, move || {
        let begun = Instant::now();
        let found =
            within_limit(limit_s, run).map_err(|error| Failed::from(with_causes(&error)))?;
        if !found.is_empty() {
            println!("{label}: {found}");
        }
        if begun.elapsed() > SLOW {
            println!("{label}: took {} s", begun.elapsed().as_secs());
        }
        Ok(())
    });
    test.with_kind(KIND)
}

/// Runs a test on a separate thread, and waits for it until the limit.
fn within_limit(
    limit_s: u64,
    run: impl FnOnce() -> Result<String> + Send + 'static,
) -> Result<String> {
    let limit = Duration::from_secs(settings::parsed(settings::LIMIT_S)?.unwrap_or(limit_s));
    let (sender, ended) = channel();
    let test = std::thread::Builder::new().spawn(move || {
        // The receiver is gone once the limit is over.
        let _ = sender.send(run());
    })?;
    match ended.recv_timeout(limit) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Timeout) => bail!("it has not ended within {} s", limit.as_secs()),
        // The thread has panicked.
        Err(RecvTimeoutError::Disconnected) => match test.join() {
            Ok(()) => bail!("it has ended without a result"),
            Err(panic) => resume_unwind(panic),
        },
    }
}

/// Returns an error and its causes, one a line, without a backtrace: the message says what is wrong,
/// and a report is read from its end.
fn with_causes(error: &Error) -> String {
    let causes: Vec<_> = error.chain().map(ToString::to_string).collect();
    causes.join("\n  because ")
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
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_failure_names_its_causes() {
        let error = anyhow!("no such file").context("cannot read it");
        assert_eq!(
            with_causes(&error),
            "cannot read it\n  because no such file"
        );
    }

    #[test]
    fn a_title_becomes_a_name() {
        assert_eq!(
            name_of("-e sets what's in the image's ENV, A=b"),
            "e_sets_whats_in_the_images_env_a_b"
        );
    }
}
