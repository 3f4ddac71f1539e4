use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use crate::v1::{
    ChangeNetworkRequest, KeepNetworkEvent, KeepNetworkInput, NetworkKept, keep_network_event,
    keep_network_input,
};
use crate::{Client, ClientError};

/// The name of the calls in errors.
const CALL: &str = "change the rules of the network";
/// The inputs of a call, all of which have room in its channel.
const INPUTS: usize = 2;
/// The time in which a client gets its turn. A client that was stopped in the turn before holds it for 30 s, and a slow network
/// process for 10 s.
const TURN_TIMEOUT: Duration = Duration::from_secs(90);

/// Rules that the machine follows once they are kept. If it is dropped, the machine follows them exactly if the sandbox's
/// description was replaced meanwhile.
#[derive(Debug)]
pub struct KeepingRules {
    inputs: mpsc::Sender<KeepNetworkInput>,
    events: Streaming<KeepNetworkEvent>,
}

impl Client {
    /// Replaces the rules of the machine's network, for connections and queries from then on.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the VMM process is older than the call, or
    /// [`Files`](ClientError::Files) if the rules cannot hold.
    pub async fn change_network(
        &mut self,
        request: ChangeNetworkRequest,
    ) -> Result<(), ClientError> {
        let changed = self.supervisor.change_network(request).await;
        changed.map(drop).map_err(ClientError::for_file_call(CALL))
    }

    /// Announces rules of the machine's network that the caller keeps next, in the sandbox's description. Returns once it is
    /// the caller's turn to write that.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the VMM process is older than the call,
    /// [`Files`](ClientError::Files) if the rules cannot hold, or [`Silent`](ClientError::Silent) if the turn does not come.
    pub async fn keep_network(
        &mut self,
        rules: ChangeNetworkRequest,
    ) -> Result<KeepingRules, ClientError> {
        let (inputs, pending) = mpsc::channel(INPUTS);
        let input = Some(keep_network_input::Input::Rules(rules));
        // The channel has room: nothing was sent before.
        let _ = inputs.send(KeepNetworkInput { input }).await;
        let turn = async {
            let events = self.supervisor.keep_network(ReceiverStream::new(pending));
            let mut events = events.await?.into_inner();
            let event = events.message().await?;
            Ok::<_, Status>((events, event.and_then(|event| event.event)))
        };
        let turn = timeout(TURN_TIMEOUT, turn).await;
        let turn = turn.map_err(|_| ClientError::Silent {
            call: CALL,
            message: "the sandbox's process does not answer".to_owned(),
        })?;
        let (events, event) = turn.map_err(ClientError::for_file_call(CALL))?;
        match event {
            Some(keep_network_event::Event::Ready(_)) => Ok(KeepingRules { inputs, events }),
            _ => Err(ClientError::OutOfTurn),
        }
    }
}

impl KeepingRules {
    /// Says that the rules are kept. Returns once the machine follows them.
    ///
    /// # Errors
    /// If the connection fails, or the machine does not follow the rules.
    pub async fn kept(mut self) -> Result<(), ClientError> {
        let input = Some(keep_network_input::Input::Kept(NetworkKept {}));
        // If the connection has failed, the events say so.
        let _ = self.inputs.send(KeepNetworkInput { input }).await;
        let event = self.events.message().await;
        let event = event.map_err(ClientError::for_file_call(CALL))?;
        match event.and_then(|event| event.event) {
            Some(keep_network_event::Event::Followed(_)) => Ok(()),
            _ => Err(ClientError::OutOfTurn),
        }
    }
}
