use msb_agent_protocol::v1::ExitStatus;
use msb_agent_protocol::v1::exit_status::Status;
use msb_machine_records::EndReason;
use serde::{Deserialize, Serialize};

/// The number that a shell adds to the number of a fatal signal.
const SIGNAL_BASE: u8 = 128;

/// The end of a command, of a job or of a sandbox's main command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Exit {
    /// The exit code, as docker numbers it: the command's own, or 128 plus the fatal signal; 124 if
    /// a limit has ended it, 125 to 127 if it could not be run.
    pub code: u8,
    /// The signal that killed the command; `None` if none did, or it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<u8>,
    /// The limit that has ended the sandbox, and the command with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
    /// The reason that the command did not run, or the fate of its sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Seconds since the epoch; `None` if the end was not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_s: Option<u64>,
}

impl Exit {
    /// Returns true if the command ended with exit code 0.
    pub fn is_success(&self) -> bool {
        self.code == 0
    }

    /// Returns the exit of a sandbox without a main command.
    pub fn without_command() -> Self {
        Self {
            code: 0,
            signal: None,
            reason: None,
            error: None,
            ended_s: None,
        }
    }

    /// Returns the exit of a command that the guest's agent reports.
    pub fn from_status(status: ExitStatus) -> Self {
        let signal = match status.status {
            Some(Status::Signal(signal)) => u8::try_from(signal).ok(),
            _ => None,
        };
        Self {
            code: msb_machine_records::Exit::code_of(status),
            signal,
            reason: EndReason::from_status(status),
            error: None,
            ended_s: None,
        }
    }
}

impl From<msb_machine_records::Exit> for Exit {
    fn from(exit: msb_machine_records::Exit) -> Self {
        // The record of a main command has the code alone; a code above 128 stands for a signal
        // only if the machine was killed, which the record says.
        let was_killed = exit.error.is_some() && exit.code > SIGNAL_BASE;
        Self {
            code: exit.code,
            signal: was_killed.then(|| exit.code - SIGNAL_BASE),
            reason: exit.reason,
            error: exit.error,
            ended_s: exit.ended_s,
        }
    }
}

/// The way in which a sandbox stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Stopped {
    /// Its processes ended and its disks were unmounted.
    Cleanly,
    /// It did not stop in time and was killed.
    Killed,
    /// It did not run.
    NotRunning,
}
