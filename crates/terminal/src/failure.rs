//! Failures of commands as their users read them: one line, then a line for each hint.

use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::output::Unwritable;

/// The exit code of msb's own failures, as in Docker: an image that is not available, a machine
/// that does not boot.
pub const EXIT_MSB_FAILED: u8 = 125;

/// A failure of a command, in the form in which the user reads it.
#[derive(Debug)]
pub struct Failure {
    error: anyhow::Error,
    exit_code: u8,
    /// The home, `MSB_HOME`.
    home: Option<PathBuf>,
}

/// A sandbox that ended before its command did.
#[derive(Debug)]
pub struct Vanished {
    /// The last lines that its VMM process and its kernel printed.
    pub log_tail: Vec<String>,
}

impl std::fmt::Display for Vanished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the sandbox ended before its command did")
    }
}

impl std::error::Error for Vanished {}

/// A pull that the user interrupted.
#[derive(Debug)]
pub struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted: complete layers are kept, and the next pull fetches the rest")
    }
}

impl std::error::Error for Interrupted {}

/// The outcome of a command: an exit code, or a failure.
pub type Outcome = Result<u8, Failure>;

impl Failure {
    /// Returns a failure with another exit code than 125.
    pub fn with_exit_code(error: anyhow::Error, exit_code: u8) -> Self {
        Self {
            error,
            exit_code,
            home: None,
        }
    }

    /// Returns the failure with the home, for its hints.
    pub fn in_home(mut self, home: &Path) -> Self {
        self.home = Some(home.to_owned());
        self
    }

    /// Returns the exit code of the command that failed.
    pub const fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// Prints `msb: what: why`, then each hint on its own line.
    #[expect(
        clippy::print_stderr,
        reason = "the one place where failures are printed"
    )]
    pub fn print(&self) {
        eprintln!("msb: {}", self.line());
        for hint in self.hints() {
            eprintln!("{hint}");
        }
    }

    /// Returns the error and its causes on one line. Parts of it may come from a registry or a
    /// guest, so control characters are escaped.
    pub fn line(&self) -> String {
        let mut line = String::new();
        for (depth, cause) in self.error.chain().enumerate() {
            let text = cause.to_string();
            if depth > 0 && line.ends_with(&text) {
                continue;
            }
            let separator = if depth == 0 { "" } else { ": " };
            let _ = write!(line, "{separator}{text}");
        }
        printable(&line)
    }

    /// Returns true if the cause is a full disk that msb writes to. Standard output and standard
    /// error do not count.
    fn lacks_space(&self) -> bool {
        let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded];
        let mut errors = (self.error.chain()).filter_map(|cause| cause.downcast_ref::<io::Error>());
        let is_streams = |error: &io::Error| {
            error
                .get_ref()
                .is_some_and(|inner| inner.is::<Unwritable>())
        };
        !errors.clone().any(is_streams) && errors.any(|error| full.contains(&error.kind()))
    }

    fn hints(&self) -> Vec<String> {
        let mut hints = Vec::new();
        if let Some(home) = self.home.as_ref().filter(|_| self.lacks_space()) {
            hints.push(format!(
                "hint: the disk that holds {} is full",
                printable(&home.display().to_string())
            ));
        }
        for cause in self.error.chain() {
            hints.extend(
                log_tail(cause)
                    .iter()
                    .map(|line| format!("  | {}", printable(line))),
            );
            if let Some(error) = cause.downcast_ref::<msb_sdk::Error>() {
                let of_cause = error.hints_for(msb_sdk::Face::CommandLine);
                hints.extend(
                    (of_cause.iter())
                        .map(|hint| format!("hint: {}", terminal_text::escaped_lines(hint))),
                );
            }
        }
        hints
    }
}

/// The failures of several actions, each of which is tried even if others fail.
#[derive(Debug, Default)]
pub struct Failures {
    /// Exit code of the last failure; 0 if nothing failed.
    pub code: u8,
}

impl Failures {
    /// Returns the value of an outcome. `None` for a failure, which is printed and whose exit code
    /// is recorded.
    pub fn note<T>(&mut self, outcome: Result<T, impl Into<Failure>>) -> Option<T> {
        match outcome {
            Ok(wanted) => Some(wanted),
            Err(error) => {
                let failure = error.into();
                failure.print();
                self.code = failure.exit_code();
                None
            }
        }
    }
}

/// Returns the last lines that a machine printed before it failed.
fn log_tail(cause: &(dyn std::error::Error + 'static)) -> Vec<String> {
    match cause.downcast_ref::<msb_sdk::Error>() {
        Some(error) => error.last_words(),
        None => cause
            .downcast_ref::<Vanished>()
            .map_or(Vec::new(), |vanished| vanished.log_tail.clone()),
    }
}

/// Returns `text` on one line, with hidden characters escaped.
pub fn printable(text: &str) -> String {
    terminal_text::escaped(text).into_owned()
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        let of_sdk = error.downcast_ref::<msb_sdk::Error>();
        Self {
            exit_code: of_sdk.map_or(EXIT_MSB_FAILED, msb_sdk::Error::exit_code),
            error,
            home: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Stream;

    #[test]
    fn a_failure_is_one_printable_line() {
        let error = anyhow::anyhow!("registry said \u{1b}[31mno\nreally").context("cannot pull x");
        let failure = Failure::from(error);
        assert_eq!(
            failure.line(),
            "cannot pull x: registry said \\u{1b}[31mno\\nreally"
        );
        assert_eq!(failure.exit_code(), 125);
    }

    #[test]
    fn one_failure_of_several_counts_and_ends_nothing() {
        let mut failures = Failures::default();
        assert_eq!(failures.note(Ok::<_, Failure>(1)), Some(1));
        assert_eq!(failures.code, 0);
        let failed: Result<u8, _> = Err(anyhow::anyhow!("no"));
        assert_eq!(failures.note(failed), None);
        assert_eq!(failures.note(Ok::<_, Failure>(2)), Some(2));
        assert_eq!(failures.code, 125);
    }

    #[test]
    fn what_to_do_stands_in_lines_of_its_own() {
        let source = msb_vmm::Unavailable {
            reason: "there is no /dev/kvm".to_owned(),
            remedy: "load the module".to_owned(),
            requirement: msb_vmm::Requirement::KvmDevice,
        };
        let refused = msb_vmm::ChooseError::Unavailable {
            vmm: "krun",
            source,
        };
        let failure = Failure::from(msb_sdk::Error::from(refused));
        assert_eq!(failure.line(), "cannot use krun: there is no /dev/kvm");
        assert_eq!(
            failure.hints(),
            ["hint: load the module, or use --vmm qemu"]
        );
    }

    #[test]
    fn a_full_disk_is_named() {
        let full = std::io::Error::from(ErrorKind::StorageFull);
        let failure = Failure::from(anyhow::Error::from(full).context("cannot create it"));
        assert!(failure.hints().is_empty());
        let failure = failure.in_home(Path::new("/home/user/.msb"));
        assert_eq!(
            failure.hints(),
            ["hint: the disk that holds /home/user/.msb is full"]
        );
        let full = std::io::Error::from(ErrorKind::StorageFull);
        let failure = Failure::from(Stream::Stdout.unwritable(full));
        let failure = failure.in_home(Path::new("/home/user/.msb"));
        assert!(failure.hints().is_empty());
        assert!(
            failure
                .line()
                .starts_with("cannot write to standard output: ")
        );
    }
}
