//! The process of forwarded sockets: a client that is served before the main command starts.

use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::time::Duration;

use msb_agent_protocol::serve_kept;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::time::timeout;

use super::Supervisor;
use super::clients::ClientConnection;
use crate::sockets_process::SocketsProcess;

/// The time in which the guest listens on all sockets.
const READY_TIMEOUT: Duration = Duration::from_secs(30);

impl Supervisor {
    /// Serves the process of forwarded sockets, and waits until programs can connect. It does not keep the sandbox from
    /// being idle: its calls are those of programs of the guest.
    ///
    /// # Errors
    /// If the process has ended, which has said why in the log, or takes too long.
    pub(super) async fn serve_sockets(&self, process: SocketsProcess) -> io::Result<()> {
        let supervisor = Self {
            connection: Arc::new(ClientConnection::new(watch::Sender::new(0))),
            awaited_owner: Arc::default(),
            ..self.clone()
        };
        let client = stream(process.client)?;
        tokio::spawn(async move {
            let _ = serve_kept(client, supervisor).await;
        });
        let mut ready = stream(process.ready)?;
        match timeout(READY_TIMEOUT, ready.read_u8()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => Err(io::Error::other("the sockets cannot be forwarded")),
            Err(_) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the sockets were not forwarded in time",
            )),
        }
    }
}

fn stream(stream: StdUnixStream) -> io::Result<UnixStream> {
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
