use std::time::Duration;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use crate::v1::{
    MountRootRequest, RollBackEvent, RollBackInput, RollBackStart, StopFirst, UnmountRootRequest,
    roll_back_event, roll_back_input,
};
use crate::{Bytes, Client, ClientError};

/// The name of the call in errors.
const CALL: &str = "roll back";
/// The inputs of a call, all of which have room in its channel.
const INPUTS: usize = 2;

/// A rollback under way, whose disk is not in use. Dropping it leaves the disk as it was: the guest mounts
/// it again.
#[derive(Debug)]
pub struct RollingBack {
    inputs: mpsc::Sender<RollBackInput>,
    events: Streaming<RollBackEvent>,
    before: Bytes,
}

impl Client {
    /// Has the guest end its processes and unmount its writable disk, which is one of generations. Without
    /// a `grace` they are killed at once. `generations_max` is the most generations that the disk may have
    /// afterwards.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the VMM process is older than the call,
    /// [`Call`](ClientError::Call) with the reason if the guest does not do it.
    pub async fn roll_back(
        &mut self,
        grace: Option<Duration>,
        generations_max: u32,
    ) -> Result<RollingBack, ClientError> {
        let (inputs, pending) = mpsc::channel(INPUTS);
        let start = roll_back_input::Input::Start(RollBackStart {
            grace_ms: grace.map(milliseconds),
            generations_max,
        });
        // The channel has room: nothing was sent before.
        let _ = inputs.send(RollBackInput { input: Some(start) }).await;
        let events = self
            .supervisor
            .roll_back(ReceiverStream::new(pending))
            .await;
        let mut events = events.map_err(ClientError::for_call(CALL))?.into_inner();
        let event = events.message().await;
        match event
            .map_err(ClientError::for_call(CALL))?
            .and_then(|event| event.event)
        {
            Some(roll_back_event::Event::Unmounted(before)) => Ok(RollingBack {
                inputs,
                events,
                before,
            }),
            _ => Err(ClientError::OutOfTurn),
        }
    }

    /// Asks the guest to end its processes and to unmount its root. Without a `grace` they are killed at
    /// once; with one, the command `first` is ended before the others.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the agent is older than the call,
    /// [`Call`](ClientError::Call) with the reason if the root cannot be unmounted.
    pub async fn unmount_root(
        &mut self,
        grace: Option<Duration>,
        first: Option<StopFirst>,
    ) -> Result<(), ClientError> {
        let grace_ms = grace.map(milliseconds);
        let request = UnmountRootRequest { grace_ms, first };
        let reply = self.sandbox.unmount_root(request).await;
        reply
            .map_err(ClientError::for_call("unmount the root"))
            .map(drop)
    }

    /// Asks the guest to mount its root again.
    ///
    /// # Errors
    /// [`Call`](ClientError::Call) with the reason if it cannot be mounted.
    pub async fn mount_root(&mut self) -> Result<(), ClientError> {
        let reply = self.sandbox.mount_root(MountRootRequest {}).await;
        reply
            .map_err(ClientError::for_call("mount the root"))
            .map(drop)
    }
}

impl RollingBack {
    /// Returns the state of the disk as the guest left it. It is durable.
    pub fn before(&self) -> &[u8] {
        &self.before
    }

    /// Sets the disk to another state. Returns once the sandbox can be used again.
    ///
    /// # Errors
    /// [`Call`](ClientError::Call) with the reason if the disk cannot be set to the state, or the guest does
    /// not mount it. The machine ends then, and the disk has the one state or the other.
    pub async fn replace(self, state: Vec<u8>) -> Result<(), ClientError> {
        let input = Some(roll_back_input::Input::Replace(state.into()));
        // If the connection has failed, the events say so.
        let _ = self.inputs.send(RollBackInput { input }).await;
        mounted(self.events).await
    }

    /// Leaves the disk as it was. Returns once the sandbox can be used again.
    ///
    /// # Errors
    /// If the guest does not mount the disk. The machine ends then.
    pub async fn abandon(self) -> Result<(), ClientError> {
        drop(self.inputs);
        mounted(self.events).await
    }
}

async fn mounted(mut events: Streaming<RollBackEvent>) -> Result<(), ClientError> {
    let event = events.message().await;
    match event
        .map_err(ClientError::for_call(CALL))?
        .and_then(|event| event.event)
    {
        Some(roll_back_event::Event::Mounted(_)) => Ok(()),
        _ => Err(ClientError::OutOfTurn),
    }
}

fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}
