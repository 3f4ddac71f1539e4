//! The socket by which commands of the guest ask the ssh-agent of a client that has offered it.

use std::convert::Infallible;
use std::sync::Arc;

use msb_agent_protocol::v1::AcceptRequest;
use msb_agent_protocol::{Accepts, Client};
use russh::server::Handle;

use crate::channels::Channels;
use crate::forward::carry;
use crate::guest::{Guest, SocketError};
use crate::intake::Intake;
use crate::output::Output;

/// The permission bits of the socket: only its owner can connect.
const MODE: u32 = 0o600;

/// A socket of the guest, which its user's processes connect to. The guest removes it when this is dropped.
#[derive(Debug)]
pub(crate) struct AgentSocket {
    path: String,
    accepts: Accepts,
    client: Client,
    channels: Channels,
    intake: Arc<Intake>,
}

impl AgentSocket {
    /// Listens on a socket that belongs to a user of the guest.
    pub(crate) async fn listen(
        guest: &Guest,
        user: &str,
        channels: &Channels,
        intake: &Arc<Intake>,
    ) -> Result<Self, SocketError> {
        let random: [u8; 8] = durable_files::random()?;
        // The directory exists in every guest, and every user may reach it.
        let path = format!("/tmp/msb-ssh-agent-{:016x}", u64::from_be_bytes(random));
        let mut client = guest.client().await?;
        let request = AcceptRequest {
            path: path.clone().into(),
            owner: user.to_owned(),
            mode: Some(MODE),
            parents: false,
        };
        Ok(Self {
            path,
            accepts: client.accept(request).await?,
            client,
            channels: channels.clone(),
            intake: Arc::clone(intake),
        })
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Joins each connection with a channel to the client's ssh-agent. Does not end: a guest that cannot listen any
    /// more leaves the command without an agent.
    pub(crate) async fn serve(mut self, handle: &Handle) -> Infallible {
        while let Ok(Some(accepted)) = self.accepts.next().await {
            self.join(accepted.id, handle).await;
        }
        std::future::pending().await
    }

    async fn join(&mut self, accepted: u64, handle: &Handle) {
        // A process that has gone, or a client without an agent, ends the connection.
        let Ok(socket) = self.client.carry(accepted).await else {
            return;
        };
        let Ok(channel) = handle.channel_open_agent().await else {
            return;
        };
        let id = channel.id();
        let (_, half) = channel.split();
        let output = Output::new(half, Arc::clone(&self.intake));
        if self.channels.reserve(id) {
            self.channels
                .serve(id, |receivers| carry(socket, output, receivers));
        } else {
            output.close().await;
        }
    }
}
