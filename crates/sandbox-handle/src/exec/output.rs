use std::borrow::Cow;

use bytes::Bytes;
use msb_client::{Error, ErrorKind, Exit, Text};
use serde::{Deserialize, Serialize};

use super::description;

/// The output of a command that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Output {
    /// The exit code: the command's own, or 128 plus the signal that killed it.
    pub exit_code: u8,
    /// The signal that killed the command; `None` if none did.
    pub signal: Option<u8>,
    /// Everything that the command printed on standard output, or on its terminal.
    #[serde(skip)]
    pub stdout: Bytes,
    /// Everything that the command printed on standard error.
    #[serde(skip)]
    pub stderr: Bytes,
    /// The failure on one line: the command, its end, and the last line of its standard error. `None` if the
    /// exit code is 0.
    pub failure: Option<String>,
}

impl Output {
    pub(super) fn new(exit: &Exit, argv: &[Text], stdout: Bytes, stderr: Bytes) -> Self {
        let failure = (exit.code != 0).then(|| failure(exit, argv, &stderr));
        Self {
            failure,
            exit_code: exit.code,
            signal: exit.signal,
            stdout,
            stderr,
        }
    }

    /// Returns standard output as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stdout)
    }

    /// Returns standard error as text; bytes that are not UTF-8 are replaced.
    pub fn error_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stderr)
    }

    /// Returns true if the exit code is 0.
    pub const fn is_success(&self) -> bool {
        self.exit_code == 0
    }

    /// Returns the output if the exit code is 0.
    ///
    /// # Errors
    /// [`CommandFailed`](ErrorKind::CommandFailed), with the output.
    pub fn check(self) -> Result<Self, Error> {
        let Some(message) = self.failure else {
            return Ok(self);
        };
        Err(Error::new(ErrorKind::CommandFailed, message)
            .with_exit_code(self.exit_code)
            .with_detail("exit_code", self.exit_code)
            .with_output(self.stdout, self.stderr))
    }
}

fn failure(exit: &Exit, argv: &[Text], stderr: &[u8]) -> String {
    let command = description::command(argv);
    let end = match exit.signal {
        Some(signal) => format!("was killed by signal {signal}"),
        None => format!("ended with exit code {}", exit.code),
    };
    match description::last_line(stderr) {
        Some(line) => format!("{command} {end}: {line}"),
        None => format!("{command} {end}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checked_failure_keeps_code_and_output() {
        let mut exit = Exit::without_command();
        exit.code = 3;
        let (stdout, stderr) = (Bytes::from_static(b"out"), Bytes::from_static(b"\xff"));
        let output = Output::new(&exit, &["ls".into()], stdout, stderr);
        assert_eq!(output.error_text(), "\u{fffd}");
        let error = output.check().expect_err("failed");
        assert_eq!(error.kind(), ErrorKind::CommandFailed);
        assert_eq!((error.exit_code(), &error.stdout()[..]), (3, &b"out"[..]));
        assert_eq!(error.message(), "'ls' ended with exit code 3: \u{fffd}");
    }
}
