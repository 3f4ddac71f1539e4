use std::io;
use std::path::Path;

use durable_files::now_s;
use msb_agent_protocol::ClientError;
use msb_agent_protocol::v1::exit_status::Status;
use msb_agent_protocol::v1::{self, ExitStatus, Failure, FailureKind};
use serde::{Deserialize, Serialize};

use crate::untrusted_file;

/// Exit code of a command that a limit of its sandbox has ended, as timeout(1) has it.
const CODE_LIMITED: u8 = 124;
/// Exit code of a command that could not be run, for a reason outside of the command.
const CODE_FAILED: u8 = 125;
/// Exit code of a command that cannot be executed.
const CODE_NOT_EXECUTABLE: u8 = 126;
/// Exit code of a command that does not exist.
const CODE_NOT_FOUND: u8 = 127;
/// Exit code of a command whose machine was killed: that of `SIGKILL`.
const CODE_KILLED: u8 = 128 + 9;
/// Longest error text that is kept, in characters: the guest chooses it.
const ERROR_MAX_CHARS: usize = 1024;

/// The limit of a sandbox that has ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EndReason {
    /// The sandbox ran for the longest permitted time (`max_duration_s`).
    MaxDuration,
    /// No client was connected and no job ran for the longest permitted time (`idle_timeout_s`).
    IdleTimeout,
}

impl EndReason {
    /// Returns the limit that ended a command; `None` if the command ended by itself.
    pub fn from_status(status: ExitStatus) -> Option<Self> {
        match status.reason() {
            v1::EndReason::Unspecified => None,
            v1::EndReason::MaxDuration => Some(Self::MaxDuration),
            v1::EndReason::IdleTimeout => Some(Self::IdleTimeout),
        }
    }

    /// Returns the exit status that attached clients receive if this limit ends the command.
    pub fn status(self) -> ExitStatus {
        let reason = match self {
            Self::MaxDuration => v1::EndReason::MaxDuration,
            Self::IdleTimeout => v1::EndReason::IdleTimeout,
        };
        ExitStatus {
            status: Some(Status::Code(CODE_LIMITED.into())),
            reason: reason.into(),
        }
    }
}

/// The end of a command that a supervisor ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The exit code, as docker numbers it: the command's own, or 128 plus the fatal signal.
    /// It is 126 or 127 if the command could not be run, 125 if something else failed, and 124 if a
    /// limit has ended it.
    pub code: u8,
    /// The limit that has ended the sandbox, and the command with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
    /// The reason that the command did not run, or the fate of its sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Seconds since the epoch; `None` if the machine was killed from outside, unobserved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_s: Option<u64>,
}

impl Exit {
    /// Reads the file at `path`; `None` if it does not exist.
    /// The VMM process wrote the file, so its content is untrusted; an unreadable file counts as a
    /// failed command.
    pub fn read(path: &Path) -> Option<Self> {
        let bytes = untrusted_file::read(path).transpose()?;
        let exit =
            bytes.and_then(|bytes| serde_json::from_slice::<Self>(&bytes).map_err(Into::into));
        let exit = exit.unwrap_or_else(|_| Self {
            code: CODE_FAILED,
            reason: None,
            error: Some("cannot parse exit.json".to_owned()),
            ended_s: None,
        });
        Some(Self {
            error: exit.error.map(|error| cut(&error)),
            ..exit
        })
    }

    /// Writes the file at `path`, durably.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        durable_files::publish_bytes(path, &serde_json::to_vec_pretty(self)?)
    }

    /// Returns the exit code for a status, with a shell's numbers.
    pub fn code_of(status: ExitStatus) -> u8 {
        let code = match status.status {
            Some(Status::Code(code)) => code,
            Some(Status::Signal(signal)) => signal.saturating_add(128),
            None => CODE_FAILED.into(),
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }

    /// Returns the exit code of a command that the guest refused to run.
    pub fn code_of_refused(failure: &Failure) -> u8 {
        match failure.kind() {
            FailureKind::CommandNotFound => CODE_NOT_FOUND,
            FailureKind::CommandNotExecutable => CODE_NOT_EXECUTABLE,
            FailureKind::BadRequest | FailureKind::Guest | FailureKind::Paused => CODE_FAILED,
        }
    }

    /// Returns the end of a command with this status, which ended now.
    pub fn from_status(status: ExitStatus) -> Self {
        Self {
            code: Self::code_of(status),
            reason: EndReason::from_status(status),
            error: None,
            ended_s: Some(now_s()),
        }
    }

    /// Returns the end of a command that the agent could not run.
    pub fn failed(error: &ClientError) -> Self {
        let code = match error {
            ClientError::Refused(failure) => Self::code_of_refused(failure),
            _ => CODE_FAILED,
        };
        Self {
            code,
            reason: None,
            error: Some(cut(&error.to_string())),
            ended_s: Some(now_s()),
        }
    }

    /// The end of a command whose machine was killed, so that no status was reported.
    pub fn killed(ended_s: Option<u64>) -> Self {
        Self {
            code: CODE_KILLED,
            reason: None,
            error: Some("the machine was killed".to_owned()),
            ended_s,
        }
    }
}

fn cut(error: &str) -> String {
    error.chars().take(ERROR_MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use testkit::misfits;

    use super::*;

    #[test]
    fn an_end_that_makes_no_sense_is_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("exit.json");
        assert_eq!(Exit::read(&path), None);
        for kind in misfits(&path) {
            let exit = Exit::read(&path).expect("something is there");
            let error = exit.error.unwrap_or_default();
            assert_eq!(
                (exit.code, error.as_str()),
                (125, "cannot parse exit.json"),
                "{kind}"
            );
        }
    }

    #[test]
    fn a_limit_that_ended_a_sandbox_is_kept_with_its_code() {
        for (reason, word) in [
            (EndReason::MaxDuration, "max-duration"),
            (EndReason::IdleTimeout, "idle-timeout"),
        ] {
            let exit = Exit::from_status(reason.status());
            assert_eq!((exit.code, exit.reason), (124, Some(reason)));
            let directory = tempfile::tempdir().expect("a directory");
            let path = directory.path().join("exit.json");
            exit.write(&path).expect("written");
            let text = fs_err::read_to_string(&path).expect("read");
            assert!(text.contains(&format!(r#""reason": "{word}""#)), "{text}");
            assert_eq!(Exit::read(&path), Some(exit));
        }
    }

    #[test]
    fn a_command_that_ended_by_itself_has_no_reason() {
        // The command may also return this code by itself.
        let status = ExitStatus {
            status: Some(Status::Code(124)),
            ..ExitStatus::default()
        };
        let exit = Exit::from_status(status);
        assert_eq!((exit.code, exit.reason), (124, None));
        let json = serde_json::to_string(&exit).expect("JSON");
        assert!(!json.contains("reason"), "{json}");
    }

    #[test]
    fn a_guest_says_only_so_much() {
        let long = ClientError::Refused(Failure {
            kind: FailureKind::CommandNotFound.into(),
            message: "é".repeat(1 << 20),
        });
        let exit = Exit::failed(&long);
        let error = exit.error.unwrap_or_default();
        assert_eq!((exit.code, error.chars().count()), (127, ERROR_MAX_CHARS));
    }
}
