use std::io;
use std::path::Path;

use fs_err as fs;
use msb_agent_protocol::ClientError;
use msb_agent_protocol::v1::exit_status::Status;
use msb_agent_protocol::v1::{ExitStatus, FailureKind};
use serde::{Deserialize, Serialize};

use crate::durable;
use crate::sandbox::now_s;

/// What a command has whose machine was killed: that of `SIGKILL`.
const CODE_KILLED: u8 = 128 + 9;

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
    /// What the file at `path` says; `None` where there is none.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Self>> {
        match fs::read(path) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        durable::publish_bytes(path, &serde_json::to_vec_pretty(self)?)
    }

    pub(crate) fn of(status: ExitStatus) -> Self {
        let code = match status.status {
            Some(Status::Code(code)) => code,
            Some(Status::Signal(signal)) => signal.saturating_add(128),
            None => 125,
        };
        Self {
            code: u8::try_from(code).unwrap_or(u8::MAX),
            error: None,
            ended_s: Some(now_s()),
        }
    }

    pub(crate) fn failed(error: &ClientError) -> Self {
        let code = match error {
            ClientError::Refused(failure) => match failure.kind() {
                FailureKind::CommandNotFound => 127,
                FailureKind::CommandNotExecutable => 126,
                FailureKind::BadRequest | FailureKind::Guest => 125,
            },
            _ => 125,
        };
        Self {
            code,
            error: Some(error.to_string()),
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
