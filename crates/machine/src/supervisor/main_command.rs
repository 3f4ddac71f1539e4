//! The main command and its attached clients.

use std::io;

use msb_agent_protocol::v1::exec_event::Event;
use msb_agent_protocol::v1::{Exec, ExecEvent, ExitStatus, Failure, FailureKind, Started};
use msb_agent_protocol::{Bytes, Client, ClientError, Command, Inputs, Output, Status};
use msb_machine_records::{Exit, LogStream, LogWriter};
use tokio::sync::{mpsc, watch};

use super::attached::AttachedClients;
use super::call_timeout::started;

/// The events that one attached client receives.
pub(super) type Events = mpsc::Receiver<Result<ExecEvent, Status>>;

/// The main command of a sandbox. Clones share their state.
#[derive(Debug, Clone)]
pub(super) struct MainCommand {
    stage: watch::Sender<Stage>,
    pub(super) attached: AttachedClients,
}

/// The end of a command: its recorded exit, and the event for attached clients.
pub(super) type End = (Exit, EndEvent);
/// The last event that attached clients receive.
pub(super) type EndEvent = Event;

/// The stage of the command's life.
#[derive(Debug)]
enum Stage {
    /// The command has not started, or not restarted yet.
    Waiting,
    Running {
        started: Started,
        /// `None` if the command reads no input, or its input has ended.
        inputs: Option<Inputs>,
    },
    /// The command has ended with this event.
    Over(EndEvent),
}

impl MainCommand {
    pub(super) fn new() -> Self {
        Self {
            stage: watch::Sender::new(Stage::Waiting),
            attached: AttachedClients::default(),
        }
    }

    /// Returns the agent's number of the command; `None` unless the command is running.
    pub(super) fn exec_id(&self) -> Option<u64> {
        match &*self.stage.borrow() {
            Stage::Running { started, .. } => Some(started.exec_id),
            Stage::Waiting | Stage::Over(_) => None,
        }
    }

    /// Waits until the command runs with another number than `before`, or has ended for good.
    pub(super) async fn follows(&self, before: u64) {
        let mut stage = self.stage.subscribe();
        let is_later = |stage: &Stage| match stage {
            Stage::Waiting => false,
            Stage::Running { started, .. } => started.exec_id != before,
            Stage::Over(_) => true,
        };
        // The sender lives as long as `self`.
        let _ = stage.wait_for(is_later).await;
    }

    /// Attaches a client, which receives the command's events from now on.
    pub(super) fn watch(&self) -> Result<Events, Status> {
        // The stage cannot change while it is borrowed.
        let stage = self.stage.borrow();
        let past = match &*stage {
            Stage::Waiting => None,
            Stage::Running { started, .. } => Some(Event::Started(*started)),
            Stage::Over(end) => Some(end.clone()),
        };
        let (events, sender) = AttachedClients::channel(past);
        if !matches!(*stage, Stage::Over(_)) {
            self.attached.add(sender)?;
        }
        Ok(events)
    }

    /// Passes standard input on, once the command runs. Returns true if the command accepted it.
    pub(super) async fn feed(&self, bytes: Bytes) -> bool {
        let mut stage = self.stage.subscribe();
        let begun = stage.wait_for(|stage| !matches!(stage, Stage::Waiting));
        let inputs = match begun.await.as_deref() {
            Ok(Stage::Running { inputs, .. }) => inputs.clone(),
            _ => None,
        };
        match inputs {
            Some(inputs) => inputs.send(bytes).await,
            None => false,
        }
    }

    /// Ends the command's standard input.
    pub(super) async fn end_input(&self) {
        let mut last = None;
        self.stage.send_if_modified(|stage| {
            if let Stage::Running { inputs, .. } = stage {
                last = inputs.take();
            }
            // The stage itself has not changed.
            false
        });
        if let Some(inputs) = last {
            inputs.end().await;
        }
    }

    /// Starts the command. A failure to start is returned as the command's end.
    pub(super) async fn start(&self, exec: Exec, agent: &Client) -> Result<Command, End> {
        let takes_stdin = exec.stdin;
        let command = started(agent, exec).await;
        let command = command.map_err(|error| lost(&error))?;
        let event = Started {
            exec_id: command.control.exec_id(),
            pid: command.pid,
        };
        self.stage.send_replace(Stage::Running {
            started: event,
            inputs: takes_stdin.then(|| command.inputs.clone()),
        });
        self.attached.send(Event::Started(event)).await;
        Ok(command)
    }

    /// Logs the command's output and passes it on, until the command has ended.
    /// Attached clients do not receive the end yet.
    pub(super) async fn attend(&self, command: Command, log: &mut io::Result<LogWriter>) -> End {
        let mut outputs = command.outputs;
        loop {
            let (stream, bytes) = match outputs.next().await {
                Ok(Some(Output::Stdout(bytes))) => (LogStream::Stdout, bytes),
                Ok(Some(Output::Stderr(bytes))) => (LogStream::Stderr, bytes),
                Ok(Some(Output::Exited(status))) => {
                    let status = own(status);
                    return (Exit::from_status(status), Event::Exited(status));
                }
                Ok(None) => return lost(&ClientError::OutOfTurn),
                Err(error) => return lost(&error),
            };
            keep(log, stream, &bytes);
            self.attached
                .send(match stream {
                    LogStream::Stdout => Event::Stdout(bytes),
                    LogStream::Stderr => Event::Stderr(bytes),
                })
                .await;
        }
    }

    /// Ends the command for good. Clients that attach later receive only its end.
    pub(super) fn settle(&self, end: EndEvent) {
        self.stage.send_replace(Stage::Over(end));
    }

    /// Marks the command as waiting for its restart.
    pub(super) fn renew(&self) {
        self.stage.send_replace(Stage::Waiting);
    }
}

/// Logs output. If the disk is full, the output is lost and the command runs on.
/// The error stays in `log` and is reported at the command's end.
pub(super) fn keep(log: &mut io::Result<LogWriter>, stream: LogStream, bytes: &[u8]) {
    if let Ok(writer) = log
        && let Err(error) = writer.add(stream, bytes)
    {
        *log = Err(error);
    }
}

/// Drops the parts of an exit status that a guest may not set: only msb reports limits.
pub(super) fn own(status: ExitStatus) -> ExitStatus {
    ExitStatus {
        status: status.status,
        ..ExitStatus::default()
    }
}

fn lost(error: &ClientError) -> End {
    (Exit::failed(error), failed(error))
}

fn failed(error: &ClientError) -> Event {
    Event::Failed(match error {
        ClientError::Refused(failure) => failure.clone(),
        error => Failure {
            kind: FailureKind::Guest.into(),
            message: error.to_string(),
        },
    })
}
