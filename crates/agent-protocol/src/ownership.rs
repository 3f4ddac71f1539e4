use std::time::Duration;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use crate::v1::{Own, OwnEvent, OwnInput, Release, own_event, own_input};
use crate::{Client, ClientError};

/// The ownership of a sandbox. Dropping it gives the sandbox up, which ends the machine unless
/// another client owns it.
#[derive(Debug)]
pub struct Ownership {
    inputs: mpsc::Sender<OwnInput>,
    events: Streaming<OwnEvent>,
}

impl Client {
    /// Becomes an owner of the sandbox. `grace` is the time that processes have to end themselves
    /// once the last owner is gone.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the VMM process is older than the call.
    pub async fn own(&mut self, grace: Duration) -> Result<Ownership, ClientError> {
        let grace_ms = u32::try_from(grace.as_millis()).unwrap_or(u32::MAX);
        let (inputs, pending) = mpsc::channel(1);
        let start = own_input::Input::Start(Own { grace_ms });
        // The channel has room: nothing was sent before.
        let _ = inputs.send(OwnInput { input: Some(start) }).await;
        let events = self.supervisor.own(ReceiverStream::new(pending)).await;
        let mut events = events.map_err(ClientError::for_call("own"))?.into_inner();
        let owned = events
            .message()
            .await
            .map_err(ClientError::for_call("own"))?;
        match owned.and_then(|event| event.event) {
            Some(own_event::Event::Owned(_)) => Ok(Ownership { inputs, events }),
            None => Err(ClientError::OutOfTurn),
        }
    }
}

impl Ownership {
    /// Gives the ownership up without ending the sandbox. Returns once the supervisor knows.
    ///
    /// # Errors
    /// If the connection fails; the machine then ends unless another client owns it.
    pub async fn release(mut self) -> Result<(), ClientError> {
        let input = Some(own_input::Input::Release(Release {}));
        // If the connection has failed, the events say so.
        let _ = self.inputs.send(OwnInput { input }).await;
        match self.events.message().await {
            Ok(None) => Ok(()),
            Ok(Some(_)) => Err(ClientError::OutOfTurn),
            Err(status) => Err(ClientError::for_call("give the ownership up")(status)),
        }
    }
}
