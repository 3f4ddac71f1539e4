use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use image_store::{CheckError, FindError, LoadError, PullError};
use msb_runtime::{KERNEL_REMEDY, StartError};

use crate::output::Unwritable;

/// msb itself failed, as docker has it: an image that cannot be had, a machine that does not boot.
pub(crate) const EXIT_MSB_FAILED: u8 = 125;

/// Why msb gives up, as the user reads it.
#[derive(Debug)]
pub(crate) struct Failure {
    error: anyhow::Error,
    exit_code: u8,
    /// Where msb keeps what it writes.
    home: Option<PathBuf>,
}

/// A sandbox that was gone before its command had ended.
#[derive(Debug)]
pub(crate) struct Vanished {
    /// The last lines that its process and its kernel printed.
    pub(crate) last_words: Vec<String>,
}

impl std::fmt::Display for Vanished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the sandbox ended before its command did")
    }
}

impl std::error::Error for Vanished {}

/// What every command gives: an exit code.
pub(crate) type Outcome = Result<u8, Failure>;

impl Failure {
    /// One with another exit code than 125.
    pub(crate) fn with_exit_code(error: anyhow::Error, exit_code: u8) -> Self {
        Self {
            error,
            exit_code,
            home: None,
        }
    }

    /// The same, of an msb that writes below `home`.
    pub(crate) fn in_home(mut self, home: &Path) -> Self {
        self.home = Some(home.to_owned());
        self
    }

    pub(crate) const fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// The error of this kind that it comes from, if it does.
    pub(crate) fn cause<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.error.chain().find_map(|cause| cause.downcast_ref())
    }

    /// Prints `msb: what: why`, then hints on lines of their own.
    #[expect(
        clippy::print_stderr,
        reason = "the one place where failures are printed"
    )]
    pub(crate) fn print(&self) {
        eprintln!("msb: {}", self.line());
        for hint in self.hints() {
            eprintln!("{hint}");
        }
    }

    /// The error and its causes on one line. Some of it may come from a registry or a guest, so
    /// control characters are shown, not sent to the terminal.
    pub(crate) fn line(&self) -> String {
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

    /// Whether a disk that msb keeps something on is full.
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
                home.display()
            ));
        }
        for cause in self.error.chain() {
            hints.extend(
                last_words(cause)
                    .iter()
                    .map(|line| format!("  | {}", printable(line))),
            );
            let hint = match () {
                () if cause.is::<msb_runtime::KernelError>() => Some(KERNEL_REMEDY.to_owned()),
                () => store_hint(cause),
            };
            hints.extend(hint.map(|hint| format!("hint: {hint}")));
        }
        hints
    }
}

/// What failed of several things, none of which keeps the others from being done.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// That of the last one, 0 where nothing failed.
    pub(crate) code: u8,
}

impl Failures {
    /// What was wanted; a failure to have it is said.
    pub(crate) fn note<T>(&mut self, outcome: Result<T, impl Into<Failure>>) -> Option<T> {
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

fn store_hint(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    let pull = cause.downcast_ref::<PullError>().and_then(PullError::hint);
    let load = cause.downcast_ref::<LoadError>().and_then(LoadError::hint);
    let find = cause.downcast_ref::<FindError>().and_then(FindError::hint);
    let check = cause
        .downcast_ref::<CheckError>()
        .and_then(CheckError::hint);
    pull.or(load).or(find).or(check)
}

/// What a machine printed before it failed.
fn last_words<'a>(cause: &'a (dyn std::error::Error + 'static)) -> &'a [String] {
    match cause.downcast_ref::<StartError>() {
        Some(StartError::Ended { last_words, .. } | StartError::Silent { last_words, .. }) => {
            last_words
        }
        _ => cause
            .downcast_ref::<Vanished>()
            .map_or(&[], |vanished| &vanished.last_words),
    }
}

/// `text` on one line, with control characters escaped.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            if c.is_control() {
                c.escape_default().collect::<Vec<_>>()
            } else {
                vec![c]
            }
        })
        .collect()
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            exit_code: EXIT_MSB_FAILED,
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
