use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio_util::compat::{Compat, FuturesAsyncReadCompatExt as _, TokioAsyncReadCompatExt as _};
use yamux::{Config, Connection, Mode};

use crate::greeting;

/// One stream of a session: an ordered, flow-controlled byte pipe in both directions.
pub type Stream = Compat<yamux::Stream>;

type Opened = oneshot::Sender<Stream>;

/// The most streams that one session carries at a time.
const STREAMS_MAX: usize = 256;

fn config() -> Config {
    let mut config = Config::default();
    config.set_max_num_streams(STREAMS_MAX);
    config
}

/// The host's side of the session with a guest's agent.
#[derive(Debug)]
pub struct Session {
    requests: mpsc::Sender<Opened>,
}

impl Session {
    /// Waits for the guest's greeting, answers it, and drives the session in a task of its own.
    ///
    /// # Errors
    /// When the port ends first, or the guest speaks another version.
    pub async fn connect<T>(mut port: T) -> io::Result<Self>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        greeting::greet_guest(&mut port).await?;
        let connection = Connection::new(port.compat(), config(), Mode::Client);
        let (requests, receiver) = mpsc::channel(STREAMS_MAX);
        tokio::spawn(drive(connection, receiver));
        Ok(Self { requests })
    }

    /// Opens a stream: one request.
    ///
    /// # Errors
    /// When the session has ended.
    pub async fn open_stream(&self) -> io::Result<Stream> {
        let ended = || io::Error::new(io::ErrorKind::NotConnected, "the guest's session has ended");
        let (opened, stream) = oneshot::channel();
        self.requests.send(opened).await.map_err(|_| ended())?;
        stream.await.map_err(|_| ended())
    }
}

/// Keeps the connection going and opens streams as they are asked for, until either side is gone.
async fn drive<T>(mut connection: Connection<T>, mut requests: mpsc::Receiver<Opened>)
where
    T: futures_util::io::AsyncRead + futures_util::io::AsyncWrite + Unpin,
{
    let mut waiting = VecDeque::new();
    poll_fn(|context| {
        loop {
            let opened = open_waiting(&mut connection, &mut requests, &mut waiting, context);
            if opened.is_ready() {
                return Poll::Ready(());
            }
            match connection.poll_next_inbound(context) {
                // A guest has nothing to ask of its host.
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await;
}

/// Ready when the connection has failed.
fn open_waiting<T>(
    connection: &mut Connection<T>,
    requests: &mut mpsc::Receiver<Opened>,
    waiting: &mut VecDeque<Opened>,
    context: &mut Context<'_>,
) -> Poll<()>
where
    T: futures_util::io::AsyncRead + futures_util::io::AsyncWrite + Unpin,
{
    while let Poll::Ready(Some(opened)) = requests.poll_recv(context) {
        waiting.push_back(opened);
    }
    while !waiting.is_empty() {
        match connection.poll_new_outbound(context) {
            Poll::Ready(Ok(stream)) => {
                if let Some(opened) = waiting.pop_front() {
                    // Whoever asked may have gone; the stream closes with it.
                    let _ = opened.send(stream.compat());
                }
            }
            Poll::Ready(Err(_)) => return Poll::Ready(()),
            Poll::Pending => break,
        }
    }
    Poll::Pending
}

/// The guest's side: greets, then hands every stream that the host opens to `handle`, until the
/// host is gone.
///
/// # Errors
/// When the port fails, or the host speaks another version.
pub async fn serve<T>(mut port: T, mut handle: impl FnMut(Stream)) -> io::Result<()>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    greeting::greet_host(&mut port).await?;
    let mut connection = Connection::new(port.compat(), config(), Mode::Server);
    while let Some(stream) = poll_fn(|context| connection.poll_next_inbound(context)).await {
        handle(stream.map_err(io::Error::other)?.compat());
    }
    Ok(())
}
