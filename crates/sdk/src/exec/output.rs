use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Exit};

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
}

impl Output {
    pub(super) const fn new(exit: &Exit, stdout: Bytes, stderr: Bytes) -> Self {
        Self {
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
        if self.is_success() {
            return Ok(self);
        }
        let message = match self.signal {
            Some(signal) => format!("the command was killed by signal {signal}"),
            None => format!("the command ended with exit code {}", self.exit_code),
        };
        Err(Error::new(ErrorKind::CommandFailed, message)
            .with_exit_code(self.exit_code)
            .with_detail("exit_code", self.exit_code)
            .with_output(self.stdout, self.stderr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checked_failure_keeps_code_and_output() {
        let output = Output {
            exit_code: 3,
            signal: None,
            stdout: Bytes::from_static(b"out"),
            stderr: Bytes::from_static(b"\xff"),
        };
        assert_eq!(output.error_text(), "\u{fffd}");
        let error = output.check().expect_err("failed");
        assert_eq!(error.kind(), ErrorKind::CommandFailed);
        assert_eq!((error.exit_code(), &error.stdout()[..]), (3, &b"out"[..]));
    }
}
