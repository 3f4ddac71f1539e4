use bytes::Bytes;
use tokio::sync::mpsc;
use tonic::Streaming;

use crate::v1::{ExecEvent, ExecInput, ExitStatus, WindowSize, exec_event, exec_input};
use crate::{Client, ClientError};

/// A running command, seen from the host. Dropping its parts ends it.
#[derive(Debug)]
pub struct Command {
    /// The command's process ID in the guest.
    pub pid: u32,
    /// The command's standard input. Dropping it ends standard input.
    pub inputs: Inputs,
    /// The command's output. Dropping it kills the command.
    pub outputs: Outputs,
    /// Signals and window sizes, which do not wait for the command to read its input.
    pub control: Control,
}

/// A command's standard input.
#[derive(Debug, Clone)]
pub struct Inputs(mpsc::Sender<ExecInput>);

/// A command's output and its exit.
#[derive(Debug)]
pub struct Outputs(Streaming<ExecEvent>);

/// The control of a command, besides its input.
#[derive(Debug, Clone)]
pub struct Control {
    client: Client,
    exec_id: u64,
}

/// An event of a running command.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Bytes of standard output, or of the terminal.
    Stdout(Bytes),
    /// Bytes of standard error.
    Stderr(Bytes),
    /// The command ended, and all its output has arrived.
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
    /// Sends bytes to standard input, and waits until there is room for them. Returns false if the
    /// command accepts no more input. `bytes` are at most
    /// [`CHUNK_MAX_BYTES`](crate::CHUNK_MAX_BYTES) long.
    pub async fn send(&self, bytes: Bytes) -> bool {
        let input = Some(exec_input::Input::Stdin(bytes));
        self.0.send(ExecInput { input }).await.is_ok()
    }

    /// Ends standard input, and nothing else.
    pub async fn end(&self) {
        // A command that has ended needs no end of its input.
        self.send(Bytes::new()).await;
    }
}

impl Outputs {
    /// Returns the next event. `None` if the agent has closed the stream.
    ///
    /// # Errors
    /// If the connection fails, or an event is out of turn.
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
        match self
            .0
            .message()
            .await
            .map_err(ClientError::for_call("exec"))?
        {
            None => Ok(None),
            Some(ExecEvent { event: Some(event) }) => Ok(Some(event)),
            Some(ExecEvent { event: None }) => Err(ClientError::OutOfTurn),
        }
    }
}

impl Control {
    /// Returns a connection with the sandbox that the command runs in.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns the agent's number for the command.
    pub const fn exec_id(&self) -> u64 {
        self.exec_id
    }

    /// Sends a signal to the command's process group, by its number on Linux.
    ///
    /// # Errors
    /// If the call fails, or the command has ended.
    pub async fn signal(&mut self, signal: i32) -> Result<(), ClientError> {
        self.client.signal(self.exec_id, signal).await
    }

    /// Sets the size of the command's terminal.
    ///
    /// # Errors
    /// If the call fails, or the command has ended.
    pub async fn resize(&mut self, size: WindowSize) -> Result<(), ClientError> {
        self.client.resize(self.exec_id, size).await
    }
}
