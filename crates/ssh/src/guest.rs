use std::io;
use std::path::Path;
use std::sync::Arc;

use msb_agent_protocol::{Client, ClientError, GuestSocket, Target};
use msb_runtime::{ConnectError, Home};
use msb_sdk::Sandbox;
use thiserror::Error;
use tokio::sync::Mutex;

/// The guest of the sandbox that a client is connected with. Clones share the connection.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    sandbox: Arc<Sandbox>,
    home: Arc<Home>,
    /// The connection for sockets, made the first time.
    connection: Arc<Mutex<Option<Client>>>,
}

/// The reason for which there is no connection to a socket of the guest.
#[derive(Debug, Error)]
pub(crate) enum SocketError {
    /// The sandbox cannot be found.
    #[error("the sandbox no longer exists")]
    Gone,
    /// The sandbox cannot be connected to.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The guest refuses.
    #[error(transparent)]
    Guest(#[from] ClientError),
    /// The host fails.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Guest {
    pub(crate) fn new(sandbox: Sandbox, home: &Path) -> Self {
        Self {
            sandbox: Arc::new(sandbox),
            home: Arc::new(Home::new(home)),
            connection: Arc::default(),
        }
    }

    pub(crate) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Connects to a socket of the guest.
    pub(crate) async fn connect_socket(&self, target: Target) -> Result<GuestSocket, SocketError> {
        Ok(self.client().await?.connect_socket(target).await?)
    }

    /// Returns the connection for calls about sockets.
    pub(crate) async fn client(&self) -> Result<Client, SocketError> {
        let mut connection = self.connection.lock().await;
        if let Some(client) = connection.as_ref().filter(|client| !client.is_closed()) {
            return Ok(client.clone());
        }
        let found = msb_runtime::Sandbox::find(&self.home, &self.sandbox.id())?;
        let stored = found.ok_or(SocketError::Gone)?;
        let client = stored.connect().await?;
        *connection = Some(client.clone());
        Ok(client)
    }
}
