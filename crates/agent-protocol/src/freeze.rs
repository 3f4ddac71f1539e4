use std::time::Duration;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use crate::v1::{FreezeEvent, FreezeInput, FreezeStart, Thaw, freeze_event, freeze_input};
use crate::{Client, ClientError};

/// The inputs of a call, all of which have room in its channel.
const INPUTS: usize = 2;

/// A frozen upper disk. Dropping it thaws the disk.
#[derive(Debug)]
pub struct FrozenDisk {
    inputs: mpsc::Sender<FreezeInput>,
    events: Streaming<FreezeEvent>,
}

impl Client {
    /// Syncs the filesystem of the upper disk and freezes it, for at most `limit`, of which the agent
    /// takes 60 s. Returns once nothing on the disk changes any more. There is no timeout.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the agent is older than the call,
    /// [`Call`](ClientError::Call) with the reason if the filesystem cannot be frozen.
    pub async fn freeze(&mut self, limit: Duration) -> Result<FrozenDisk, ClientError> {
        const CALL: &str = "freeze";
        let limit_ms = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX);
        let (inputs, pending) = mpsc::channel(INPUTS);
        let start = freeze_input::Input::Start(FreezeStart { limit_ms });
        // The channel has room: nothing was sent before.
        let _ = inputs.send(FreezeInput { input: Some(start) }).await;
        let events = self.sandbox.freeze(ReceiverStream::new(pending)).await;
        let mut events = events.map_err(ClientError::for_call(CALL))?.into_inner();
        let frozen = events.message().await;
        let frozen = frozen.map_err(ClientError::for_call(CALL))?;
        match frozen.and_then(|event| event.event) {
            Some(freeze_event::Event::Frozen(_)) => Ok(FrozenDisk { inputs, events }),
            _ => Err(ClientError::OutOfTurn),
        }
    }
}

impl FrozenDisk {
    /// Thaws the disk. Returns true if it was frozen until now, so that what was read of it is of one
    /// moment. It is the guest's word.
    ///
    /// # Errors
    /// If the connection fails; the agent then thaws the disk by itself.
    pub async fn thaw(mut self) -> Result<bool, ClientError> {
        let input = Some(freeze_input::Input::Thaw(Thaw {}));
        // If the connection has failed, the events say so.
        let _ = self.inputs.send(FreezeInput { input }).await;
        let thawed = self.events.message().await;
        let thawed = thawed.map_err(ClientError::for_call("thaw"))?;
        match thawed.and_then(|event| event.event) {
            Some(freeze_event::Event::Thawed(thawed)) => Ok(thawed.was_frozen),
            _ => Err(ClientError::OutOfTurn),
        }
    }
}
