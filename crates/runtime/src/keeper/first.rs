//! The command that a sandbox was created for, and everybody who watches it.

use std::io;

use msb_agent_protocol::v1::exec_event::Event;
use msb_agent_protocol::v1::{Exec, ExecEvent, Failure, FailureKind, Started};
use msb_agent_protocol::{Bytes, Client, ClientError, Command, Inputs, Output, Status};
use tokio::sync::{mpsc, watch};

use super::watchers::Watchers;
use crate::exit::Exit;
use crate::output_log::{LogStream, LogWriter};

/// What one watcher is told.
pub(super) type Events = mpsc::Receiver<Result<ExecEvent, Status>>;

/// A sandbox's first command. Its clones are the same one.
#[derive(Debug, Clone)]
pub(super) struct First {
    stage: watch::Sender<Stage>,
    pub(super) watchers: Watchers,
}

/// How a command ended: as it is kept, and as watchers are told.
pub(super) type End = (Exit, EndEvent);
/// What watchers are told last.
pub(super) type EndEvent = Event;

/// Where the command is in its life.
#[derive(Debug)]
enum Stage {
    /// It does not run yet, or not again yet.
    Waiting,
    Running {
        started: Started,
        /// `None` where it reads nothing, or nothing more.
        inputs: Option<Inputs>,
    },
    /// It ended so.
    Over(EndEvent),
}

impl First {
    pub(super) fn new() -> Self {
        Self {
            stage: watch::Sender::new(Stage::Waiting),
            watchers: Watchers::default(),
        }
    }

    /// The agent's number of the command, while it runs.
    pub(super) fn exec_id(&self) -> Option<u64> {
        match &*self.stage.borrow() {
            Stage::Running { started, .. } => Some(started.exec_id),
            Stage::Waiting | Stage::Over(_) => None,
        }
    }

    /// One more who is told what the command does from now on.
    pub(super) fn watch(&self) -> Result<Events, Status> {
        // While it is borrowed, the stage does not change.
        let stage = self.stage.borrow();
        let past = match &*stage {
            Stage::Waiting => None,
            Stage::Running { started, .. } => Some(Event::Started(*started)),
            Stage::Over(end) => Some(end.clone()),
        };
        let (events, sender) = Watchers::channel(past);
        if !matches!(*stage, Stage::Over(_)) {
            self.watchers.add(sender)?;
        }
        Ok(events)
    }

    /// Passes standard input on, once there is somebody to read it. Whether it is wanted.
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

    /// Ends standard input.
    pub(super) async fn end_input(&self) {
        let mut last = None;
        self.stage.send_if_modified(|stage| {
            if let Stage::Running { inputs, .. } = stage {
                last = inputs.take();
            }
            // It is the same stage.
            false
        });
        if let Some(inputs) = last {
            inputs.end().await;
        }
    }

    /// Starts the command; a failure to is its end.
    pub(super) async fn start(&self, exec: Exec, agent: &Client) -> Result<Command, End> {
        let takes_stdin = exec.stdin;
        let command = agent.clone().exec(exec).await;
        let command = command.map_err(|error| lost(&error))?;
        let started = Started {
            exec_id: command.control.exec_id(),
            pid: command.pid,
        };
        self.stage.send_replace(Stage::Running {
            started,
            inputs: takes_stdin.then(|| command.inputs.clone()),
        });
        self.watchers.tell(Event::Started(started)).await;
        Ok(command)
    }

    /// Keeps and passes on what the command prints, until it has ended. Watchers are not told the
    /// end yet.
    pub(super) async fn attend(&self, command: Command, log: &mut io::Result<LogWriter>) -> End {
        let mut outputs = command.outputs;
        loop {
            let (stream, bytes) = match outputs.next().await {
                Ok(Some(Output::Stdout(bytes))) => (LogStream::Stdout, bytes),
                Ok(Some(Output::Stderr(bytes))) => (LogStream::Stderr, bytes),
                Ok(Some(Output::Exited(status))) => {
                    return (Exit::of(status), Event::Exited(status));
                }
                Ok(None) => return lost(&ClientError::OutOfTurn),
                Err(error) => return lost(&error),
            };
            keep(log, stream, &bytes);
            self.watchers
                .tell(match stream {
                    LogStream::Stdout => Event::Stdout(bytes),
                    LogStream::Stderr => Event::Stderr(bytes),
                })
                .await;
        }
    }

    /// It is over: whoever comes now is told how it ended.
    pub(super) fn settle(&self, end: EndEvent) {
        self.stage.send_replace(Stage::Over(end));
    }

    /// It will run again.
    pub(super) fn renew(&self) {
        self.stage.send_replace(Stage::Waiting);
    }
}

/// A full disk does not end a command: what it prints is lost then, and the error comes at its end.
pub(super) fn keep(log: &mut io::Result<LogWriter>, stream: LogStream, bytes: &[u8]) {
    if let Ok(writer) = log
        && let Err(error) = writer.add(stream, bytes)
    {
        *log = Err(error);
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
