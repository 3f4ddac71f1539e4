//! The service of one client, from its first message to its last.

use std::sync::Arc;

use msb_sdk::Msb;
use rmcp::RoleServer;
use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::TransportAdapterIdentity;
use rmcp::transport::async_rw::AsyncRwTransport;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::Settings;
use crate::server::Server;
use crate::session::Session;

/// The most bytes of a message, on one line. A longer one is left out, and the next one is read.
const LINE_MAX_BYTES: usize = 16 << 20;

/// The reason for which a client was not served.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The first message is not one that a client of the protocol begins with.
    #[error(
        "cannot serve the client: its first message is not that of a client of the Model Context Protocol"
    )]
    NoClient,
    /// The client cannot be written to, or its version is not served.
    #[error("cannot serve the client")]
    Refused(#[source] Box<ServerInitializeError>),
}

/// Serves one client over a pair of streams, until it closes the first one or `ended` is done. Returns the value of
/// `ended` if that was the reason. Nothing but messages of the protocol is written to the second stream.
///
/// # Errors
/// If the client does not begin as the protocol has it.
pub async fn serve<T, R, W>(
    msb: Msb,
    settings: Settings,
    (reader, writer): (R, W),
    ended: impl Future<Output = T>,
) -> Result<Option<T>, ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let session = Arc::new(Session::new(msb, settings));
    let server = Server::new(Arc::clone(&session));
    let transport = AsyncRwTransport::<RoleServer, R, W>::new_server(reader, writer);
    let transport = transport.with_max_line_length(LINE_MAX_BYTES);
    let serving = async {
        let begun = serve_server::<_, _, _, TransportAdapterIdentity>(server, transport).await;
        match begun {
            Ok(running) => {
                // Its end is the client's, whatever the reason.
                let _ = running.waiting().await;
                Ok(())
            }
            Err(error) => refused(error),
        }
    };
    let served = tokio::select! {
        served = serving => served.map(|()| None),
        value = ended => Ok(Some(value)),
    };
    session.end().await;
    served
}

/// Returns the error of a client with which no session began. One that has gone before is none.
fn refused(error: ServerInitializeError) -> Result<(), ServeError> {
    match error {
        ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled => Ok(()),
        ServerInitializeError::ExpectedInitializeRequest(_) => Err(ServeError::NoClient),
        error => Err(ServeError::Refused(Box::new(error))),
    }
}
