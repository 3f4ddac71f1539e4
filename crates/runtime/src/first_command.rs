//! The command that a detached sandbox lives for: its machine's process runs it, keeps what it
//! prints and how it ended, and powers off after it.

use std::io;
use std::path::Path;

use fs_err as fs;
use msb_agent_protocol::v1::exit_status::Status;
use msb_agent_protocol::v1::{Exec, ExitStatus, FailureKind, WindowSize};
use msb_agent_protocol::{Bytes, Client, ClientError, Command, Output};
use serde::{Deserialize, Serialize};

use crate::durable;
use crate::output_log::{LogStream, LogWriter};

/// A command as a file may hold it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FirstCommand {
    argv: Vec<String>,
    env: Vec<String>,
    working_directory: String,
    user: String,
    terminal: Option<(u32, u32)>,
}

/// How a sandbox's first command ended: the file `exit.json` in its directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// As docker has it: the command's own, 128 and the signal that killed it, 126 or 127 where it
    /// could not be run, 125 where something else failed.
    pub code: u8,
    /// Why it did not run, or what became of the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Seconds since the epoch.
    pub ended_s: u64,
}

impl Exit {
    /// How a command of the sandbox in `path` ended; `None` while it has not, or where the machine
    /// was killed.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Self>> {
        match fs::read(path) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        durable::publish_bytes(path, &serde_json::to_vec_pretty(self)?)
    }

    fn of(status: ExitStatus) -> Self {
        let code = match status.status {
            Some(Status::Code(code)) => code,
            Some(Status::Signal(signal)) => signal.saturating_add(128),
            None => 125,
        };
        Self {
            code: u8::try_from(code).unwrap_or(u8::MAX),
            error: None,
            ended_s: crate::sandbox::now_s(),
        }
    }

    fn failed(error: &ClientError) -> Self {
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
            ended_s: crate::sandbox::now_s(),
        }
    }
}

impl FirstCommand {
    /// The command in a form that a file can hold. Its words are text, as the user typed them.
    pub(crate) fn new(exec: &Exec) -> Self {
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        Self {
            argv: exec.argv.iter().map(text).collect(),
            env: exec.env.iter().map(text).collect(),
            working_directory: text(&exec.working_directory),
            user: exec.user.clone(),
            terminal: exec.terminal.map(|size| (size.rows, size.columns)),
        }
    }

    fn exec(&self) -> Exec {
        let bytes = |words: &[String]| words.iter().cloned().map(Bytes::from).collect();
        Exec {
            argv: bytes(&self.argv),
            env: bytes(&self.env),
            working_directory: self.working_directory.clone().into(),
            user: self.user.clone(),
            terminal: self
                .terminal
                .map(|(rows, columns)| WindowSize { rows, columns }),
            stdin: false,
        }
    }

    /// Starts the command. One that does not start is over: its end is written.
    pub(crate) async fn start(&self, agent: &Client, exit: &Path) -> io::Result<Option<Command>> {
        match agent.clone().exec(self.exec()).await {
            Ok(command) => Ok(Some(command)),
            Err(error) => Exit::failed(&error).write(exit).map(|()| None),
        }
    }
}

/// Keeps what a command prints until it ends, then writes how.
///
/// # Errors
/// When the log or the end cannot be written. A full disk does not end the command: what it prints
/// is lost then, and the error comes at its end.
pub(crate) async fn attend(mut command: Command, log: LogWriter, exit: &Path) -> io::Result<()> {
    drop(command.inputs);
    let mut log = Ok(log);
    let end = loop {
        match command.outputs.next().await {
            Ok(Some(Output::Stdout(bytes))) => keep(&mut log, LogStream::Stdout, &bytes),
            Ok(Some(Output::Stderr(bytes))) => keep(&mut log, LogStream::Stderr, &bytes),
            Ok(Some(Output::Exited(status))) => break Exit::of(status),
            Ok(None) => break Exit::failed(&ClientError::OutOfTurn),
            Err(error) => break Exit::failed(&error),
        }
    };
    end.write(exit)?;
    log.map(drop)
}

fn keep(log: &mut io::Result<LogWriter>, stream: LogStream, bytes: &[u8]) {
    if let Ok(writer) = log
        && let Err(error) = writer.add(stream, bytes)
    {
        *log = Err(error);
    }
}
