use std::io;
use std::path::Path;

use msb_agent_protocol::ClientError;
use msb_agent_protocol::v1::exit_status::Status;
use msb_agent_protocol::v1::{ExitStatus, Failure, FailureKind};
use serde::{Deserialize, Serialize};

use crate::sandbox::now_s;
use crate::{durable, untrusted};

/// What a command has that could not be run, for another reason than itself.
const CODE_FAILED: u8 = 125;
/// What a command has that cannot be executed.
const CODE_NOT_EXECUTABLE: u8 = 126;
/// What a command has that is not there.
const CODE_NOT_FOUND: u8 = 127;
/// What a command has whose machine was killed: that of `SIGKILL`.
const CODE_KILLED: u8 = 128 + 9;
/// The most characters of an error: a guest chooses them.
const ERROR_MAX_CHARS: usize = 1024;

/// How a command ended that its sandbox's process attended to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// As docker has it: the command's own, 128 and the signal that killed it, 126 or 127 where it
    /// could not be run, 125 where something else failed.
    pub code: u8,
    /// Why it did not run, or what became of the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Seconds since the epoch; nobody saw a machine end that was killed from outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_s: Option<u64>,
}

impl Exit {
    /// What the file at `path` says; `None` where there is none. A machine's process wrote it, so it
    /// may be anything; then that is how the command ended.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let bytes = untrusted::read(path).transpose()?;
        let exit =
            bytes.and_then(|bytes| serde_json::from_slice::<Self>(&bytes).map_err(Into::into));
        let exit = exit.unwrap_or_else(|_| Self {
            code: CODE_FAILED,
            error: Some("exit.json makes no sense".to_owned()),
            ended_s: None,
        });
        Some(Self {
            error: exit.error.map(|error| cut(&error)),
            ..exit
        })
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        durable::publish_bytes(path, &serde_json::to_vec_pretty(self)?)
    }

    /// The code of a command that ended so, as a shell has it.
    pub fn code_of(status: ExitStatus) -> u8 {
        let code = match status.status {
            Some(Status::Code(code)) => code,
            Some(Status::Signal(signal)) => signal.saturating_add(128),
            None => CODE_FAILED.into(),
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }

    /// The code of a command that its guest did not run.
    pub fn code_of_refused(failure: &Failure) -> u8 {
        match failure.kind() {
            FailureKind::CommandNotFound => CODE_NOT_FOUND,
            FailureKind::CommandNotExecutable => CODE_NOT_EXECUTABLE,
            FailureKind::BadRequest | FailureKind::Guest => CODE_FAILED,
        }
    }

    pub(crate) fn of(status: ExitStatus) -> Self {
        Self {
            code: Self::code_of(status),
            error: None,
            ended_s: Some(now_s()),
        }
    }

    pub(crate) fn failed(error: &ClientError) -> Self {
        let code = match error {
            ClientError::Refused(failure) => Self::code_of_refused(failure),
            _ => CODE_FAILED,
        };
        Self {
            code,
            error: Some(cut(&error.to_string())),
            ended_s: Some(now_s()),
        }
    }

    /// That of a command whose machine ended without a word.
    pub(crate) fn killed(ended_s: Option<u64>) -> Self {
        Self {
            code: CODE_KILLED,
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
    use super::*;
    use crate::untrusted::tests::misfits;

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
                (125, "exit.json makes no sense"),
                "{kind}"
            );
        }
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
