use std::io;
use std::sync::Arc;
use std::time::Duration;

use msb_sdk::{Msb, Sandbox};
use russh::server::{Config, run_stream};
use russh::{Disconnect, MethodKind, MethodSet, SshId};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::connection::Connection;
use crate::guest::{Guest, SocketError};
use crate::host_key::HostKey;
use crate::intake::{Intake, Streams};
use crate::serve_error::ServeError;

/// The server's name and version in the protocol. The guest's agent is the same for all versions of msb.
const IDENTITY: &str = "SSH-2.0-msb";

/// Serves one client of a running sandbox over a pair of streams, until it leaves or `ended` is done. Returns the value of
/// `ended` if that was the reason. Commands that still run are killed. Nothing but the protocol is written to the second stream.
///
/// # Errors
/// If the sandbox is not running, or the client does not keep to the protocol.
pub async fn serve<T, R, W>(
    msb: &Msb,
    sandbox: Sandbox,
    key: &HostKey,
    streams: (R, W),
    ended: impl Future<Output = T>,
) -> Result<Option<T>, ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let guest = Guest::new(sandbox, msb.home());
    guest.client().await.map_err(unavailable)?;
    let intake = Arc::new(Intake::default());
    let streams = Streams::new(streams, Arc::clone(&intake));
    let connection = Connection::new(guest, intake);
    let serving = async {
        let running = run_stream(config(key), streams, connection).await?;
        let handle = running.handle();
        Ok::<_, ServeError>((handle, running))
    };
    let mut ended = std::pin::pin!(ended);
    let (handle, mut running) = tokio::select! {
        running = serving => match running {
            Ok(running) => running,
            Err(error) => return left(error).map(|()| None),
        },
        value = &mut ended => return Ok(Some(value)),
    };
    tokio::select! {
        served = &mut running => served.or_else(left).map(|()| None),
        value = &mut ended => {
            let reason = "msb ssh-proxy was ended".to_owned();
            // The client may be gone as well.
            let _ = handle.disconnect(Disconnect::ByApplication, reason, String::new()).await;
            Ok(Some(value))
        }
    }
}

fn config(key: &HostKey) -> Arc<Config> {
    Arc::new(Config {
        server_id: SshId::Standard(IDENTITY.into()),
        methods: MethodSet::from(&[MethodKind::None, MethodKind::PublicKey][..]),
        // Nothing is guessed here: every user is accepted.
        auth_rejection_time: Duration::ZERO,
        auth_rejection_time_initial: Some(Duration::ZERO),
        keys: vec![key.private()],
        // The streams end with their client, which may be silent for days.
        inactivity_timeout: None,
        ..Config::default()
    })
}

/// Returns the error of a connection that ended. A client that has gone without a word is none.
fn left(error: ServeError) -> Result<(), ServeError> {
    match error {
        ServeError::Protocol(russh::Error::Disconnect | russh::Error::HUP) => Ok(()),
        ServeError::Protocol(russh::Error::IO(error))
            if matches!(
                error.kind(),
                io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe
            ) =>
        {
            Ok(())
        }
        error => Err(error),
    }
}

fn unavailable(error: SocketError) -> ServeError {
    ServeError::Sandbox(match error {
        SocketError::Connect(error) => error.into(),
        SocketError::Guest(error) => error.into(),
        SocketError::Io(error) => error.into(),
        SocketError::Gone => io::Error::other("the sandbox no longer exists").into(),
    })
}
