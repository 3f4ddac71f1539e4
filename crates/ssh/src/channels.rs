use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use msb_sdk::{Signal, TerminalSize};
use russh::ChannelId;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::CHANNELS_MAX;
use crate::intake::Waiting;
use crate::output::Output;
use crate::session::Session;

/// The number of controls that wait for a command; further ones are dropped.
const PENDING_CONTROLS: usize = 32;

/// The channels that a client has open. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Channels(Arc<Mutex<HashMap<ChannelId, Option<Channel>>>>);

/// A channel that the client has opened.
#[derive(Debug)]
pub(crate) enum Channel {
    /// No command was asked for.
    Idle(Session, Output),
    /// A command runs, or a connection is forwarded.
    Busy(Flow),
}

/// The client's end of a channel that is in use. Dropping it ends the task that serves it.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) inputs: mpsc::UnboundedSender<Input>,
    pub(crate) controls: mpsc::Sender<Control>,
    task: AbortHandle,
}

/// Input of a client in a channel. The bytes are bounded by the connection's intake.
#[derive(Debug)]
pub(crate) enum Input {
    Data(Waiting),
    End,
}

/// A change that does not wait behind the input.
#[derive(Debug)]
pub(crate) enum Control {
    Resize(TerminalSize),
    Signal(Signal),
}

/// The ends of a channel for the task that serves it.
#[derive(Debug)]
pub(crate) struct Receivers {
    pub(crate) inputs: mpsc::UnboundedReceiver<Input>,
    pub(crate) controls: mpsc::Receiver<Control>,
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Channels {
    /// Reserves a channel. Returns false if a client has too many.
    pub(crate) fn reserve(&self, id: ChannelId) -> bool {
        let mut channels = self.all();
        let has_room = channels.len() < CHANNELS_MAX;
        if has_room {
            channels.insert(id, None);
        }
        has_room
    }

    /// Opens a channel for a command.
    pub(crate) fn open(&self, id: ChannelId, output: Output) {
        let idle = Channel::Idle(Session::default(), output);
        self.all().insert(id, Some(idle));
    }

    /// Serves a channel by a task, which closes it when it is done.
    pub(crate) fn serve<F>(&self, id: ChannelId, task: impl FnOnce(Receivers) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (input_sender, inputs) = mpsc::unbounded_channel();
        let (control_sender, controls) = mpsc::channel(PENDING_CONTROLS);
        let serving = task(Receivers { inputs, controls });
        let channels = self.clone();
        // The lock is held until the channel is there: the task may be done at once.
        let mut all = self.all();
        let task = tokio::spawn(async move {
            serving.await;
            let closed = channels.all().remove(&id);
            drop(closed);
        });
        let flow = Flow {
            inputs: input_sender,
            controls: control_sender,
            task: task.abort_handle(),
        };
        all.insert(id, Some(Channel::Busy(flow)));
    }

    /// Takes a channel for which no command was asked for.
    pub(crate) fn take_idle(&self, id: ChannelId) -> Option<(Session, Output)> {
        let mut channels = self.all();
        let channel = channels.get_mut(&id)?;
        match channel.take() {
            Some(Channel::Idle(session, output)) => Some((session, output)),
            other => {
                *channel = other;
                None
            }
        }
    }

    /// Changes the settings of a command that was not asked for. Returns false if there is none.
    pub(crate) fn configure(
        &self,
        id: ChannelId,
        change: impl FnOnce(&mut Session) -> bool,
    ) -> bool {
        match self.all().get_mut(&id) {
            Some(Some(Channel::Idle(session, _))) => change(session),
            _ => false,
        }
    }

    /// Passes input on. The input of a channel that nothing serves is dropped.
    pub(crate) fn send(&self, id: ChannelId, input: Input) {
        if let Some(Some(Channel::Busy(flow))) = self.all().get(&id) {
            // A task that reads no more drops it.
            let _ = flow.inputs.send(input);
        }
    }

    /// Passes a control on.
    pub(crate) fn control(&self, id: ChannelId, control: Control) {
        if let Some(Some(Channel::Busy(flow))) = self.all().get(&id) {
            let _ = flow.controls.try_send(control);
        }
    }

    /// Closes a channel, and ends what it serves.
    pub(crate) fn close(&self, id: ChannelId) {
        let closed = self.all().remove(&id);
        drop(closed);
    }

    /// Closes all channels.
    pub(crate) fn close_all(&self) {
        let closed = std::mem::take(&mut *self.all());
        drop(closed);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<ChannelId, Option<Channel>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
