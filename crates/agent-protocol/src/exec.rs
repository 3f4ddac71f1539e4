use bytes::Bytes;
use tokio::sync::mpsc;
use tonic::Streaming;

use crate::v1::{ExecEvent, ExecInput, ExitStatus, WindowSize, exec_event, exec_input};
use crate::{Client, ClientError};

/// A command that runs, seen from the host. Dropping its parts ends it.
#[derive(Debug)]
pub struct Command {
    /// Its process id in the guest.
    pub pid: u32,
    /// Where its input goes. Dropping it ends standard input.
    pub inputs: Inputs,
    /// Where its output comes from. Dropping it kills the command.
    pub outputs: Outputs,
    /// Signals and sizes, which wait for nothing that the command reads.
    pub control: Control,
}

/// A command's standard input.
#[derive(Debug, Clone)]
pub struct Inputs(mpsc::Sender<ExecInput>);

/// A command's output and its end.
#[derive(Debug)]
pub struct Outputs(Streaming<ExecEvent>);

/// What is told a command besides its input.
#[derive(Debug, Clone)]
pub struct Control {
    client: Client,
    exec_id: u64,
}

/// What comes from a command that runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Bytes of standard output, or of the terminal.
    Stdout(Bytes),
    /// Bytes of standard error.
    Stderr(Bytes),
    /// It ended, and all its output has come.
    Exited(ExitStatus),
}

impl Command {
    pub(crate) async fn started(
        client: Client,
        inputs: mpsc::Sender<ExecInput>,
        events: Streaming<ExecEvent>,
    ) -> Result<Self, ClientError> {
        let mut outputs = Outputs(events);
        match outputs.event().await? {
            Some(exec_event::Event::Started(started)) => Ok(Self {
                pid: started.pid,
                inputs: Inputs(inputs),
                outputs,
                control: Control {
                    client,
                    exec_id: started.exec_id,
                },
            }),
            Some(exec_event::Event::Failed(failure)) => Err(ClientError::Refused(failure)),
            Some(exec_event::Event::Exited(status)) => Err(ClientError::Over(status)),
            _ => Err(ClientError::OutOfTurn),
        }
    }
}

impl Inputs {
    /// Sends at most [`CHUNK_MAX_BYTES`](crate::CHUNK_MAX_BYTES), and waits until there is room for
    /// them. Whether the command still wants them.
    pub async fn send(&self, bytes: Bytes) -> bool {
        let input = Some(exec_input::Input::Stdin(bytes));
        self.0.send(ExecInput { input }).await.is_ok()
    }

    /// Ends standard input, and nothing else.
    pub async fn end(&self) {
        // A command that has ended wants no more anyway.
        self.send(Bytes::new()).await;
    }
}

impl Outputs {
    /// What comes next; `None` when the agent hung up.
    ///
    /// # Errors
    /// When the connection fails or brings something else.
    pub async fn next(&mut self) -> Result<Option<Output>, ClientError> {
        match self.event().await? {
            None => Ok(None),
            Some(exec_event::Event::Stdout(bytes)) => Ok(Some(Output::Stdout(bytes))),
            Some(exec_event::Event::Stderr(bytes)) => Ok(Some(Output::Stderr(bytes))),
            Some(exec_event::Event::Exited(status)) => Ok(Some(Output::Exited(status))),
            Some(exec_event::Event::Failed(failure)) => Err(ClientError::Refused(failure)),
            Some(exec_event::Event::Started(_)) => Err(ClientError::OutOfTurn),
        }
    }

    async fn event(&mut self) -> Result<Option<exec_event::Event>, ClientError> {
        match self.0.message().await.map_err(ClientError::of("exec"))? {
            None => Ok(None),
            Some(ExecEvent { event: Some(event) }) => Ok(Some(event)),
            Some(ExecEvent { event: None }) => Err(ClientError::OutOfTurn),
        }
    }
}

impl Control {
    /// What the agent calls the command.
    pub const fn exec_id(&self) -> u64 {
        self.exec_id
    }

    /// Sends the signal with this number of Linux to the command's process group.
    ///
    /// # Errors
    /// When the agent cannot be reached, or the command has ended.
    pub async fn signal(&mut self, signal: i32) -> Result<(), ClientError> {
        self.client.signal(self.exec_id, signal).await
    }

    /// Tells the command's terminal its new size.
    ///
    /// # Errors
    /// When the agent cannot be reached, or the command has ended.
    pub async fn resize(&mut self, size: WindowSize) -> Result<(), ClientError> {
        self.client.resize(self.exec_id, size).await
    }
}
