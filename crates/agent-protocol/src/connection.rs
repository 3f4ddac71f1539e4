use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::body::Body;
use tower_service::Service;

use crate::greeting;
use crate::heartbeat::{self, Heard, Heartbeat, SilentPeer};
use crate::proxy::Proxy;
use crate::services::{AgentServices, Services, sandbox_service};
use crate::socket_service::SocketService;
use crate::v1::containers_server::Containers;
use crate::v1::sandbox_server::Sandbox;
use crate::v1::supervisor_server::Supervisor;

/// The largest number of calls at a time on one connection.
const CALLS_MAX: u32 = 256;
/// The flow-control window of one call, in bytes.
const CALL_WINDOW_BYTES: u32 = 128 << 10;
/// The window of the connection. It has room for every call's window, so that a call without a
/// reader never stops the others.
const CONNECTION_WINDOW_BYTES: u32 = CALLS_MAX * CALL_WINDOW_BYTES;
/// The longest list of headers, in bytes.
const HEADERS_MAX_BYTES: u32 = 16 << 10;

/// The time after which HTTP/2 would close a silent connection: in effect, never. A caller gives up
/// sooner, and the connection still exists when a paused machine continues.
const SIGN_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The client's end of an HTTP/2 connection.
#[derive(Debug, Clone)]
pub struct Connection {
    requests: SendRequest<Body>,
    heartbeat: Heartbeat,
}

/// A call failed because of its connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The peer has sent nothing for so long that the connection was given up.
    #[error(transparent)]
    Silent(#[from] SilentPeer),
    /// The connection failed.
    #[error(transparent)]
    Http(#[from] hyper::Error),
}

impl Connection {
    /// Opens a connection, which its own task drives. With `silence_limit` it is given up after
    /// such a silence of the peer, counted from the first bytes that the peer sends.
    pub(crate) async fn open<T>(
        stream: T,
        silence_limit: Option<Duration>,
    ) -> Result<(Self, Heartbeat), hyper::Error>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let heartbeat = Heartbeat::default();
        let stream = Heard::new(stream, heartbeat.clone(), silence_limit);
        let (requests, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(heartbeat::INTERVAL)
            .keep_alive_timeout(SIGN_TIMEOUT)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(CALL_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_header_list_size(HEADERS_MAX_BYTES)
            .handshake(TokioIo::new(stream))
            .await?;
        tokio::spawn(connection);
        let connection = Self {
            requests,
            heartbeat: heartbeat.clone(),
        };
        Ok((connection, heartbeat))
    }

    /// Returns true once the connection has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.requests.is_closed()
    }
}

impl Service<Request<Body>> for Connection {
    type Response = Response<Incoming>;
    type Error = ConnectionError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        match ready!(self.requests.poll_ready(context)) {
            // The call itself fails with the reason, which gRPC would drop here.
            Err(_) if self.heartbeat.given_up().is_some() => Poll::Ready(Ok(())),
            ready => Poll::Ready(ready.map_err(Into::into)),
        }
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (answer, heartbeat) = (self.requests.send_request(request), self.heartbeat.clone());
        Box::pin(async move { answer.await.map_err(|error| why(&heartbeat, error)) })
    }
}

/// Returns the reason for a failure: if the peer was silent, any other error follows from that.
fn why(heartbeat: &Heartbeat, error: hyper::Error) -> ConnectionError {
    match heartbeat.given_up() {
        Some(silent) => silent.into(),
        None => error.into(),
    }
}

/// Serves a client of the agent until it disconnects, without calls of containers.
///
/// # Errors
/// If the connection breaks, or the client does not send HTTP/2.
pub async fn serve<T, S>(stream: T, sandbox: S) -> Result<(), hyper::Error>
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    S: Sandbox,
{
    let service = TowerToHyperService::new(sandbox_service(sandbox));
    server()
        .serve_connection(TokioIo::new(stream), service)
        .await
}

/// Serves a client of the supervisor until it disconnects: answers its calls, or passes them on to the
/// agent.
///
/// # Errors
/// If the connection breaks, or the client does not send HTTP/2.
pub async fn serve_kept<T, S>(stream: T, service: S) -> Result<(), hyper::Error>
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    S: Supervisor + Proxy,
{
    let services = TowerToHyperService::new(Services::new(service));
    server()
        .serve_connection(TokioIo::new(stream), services)
        .await
}

/// Serves the process that forwards sockets until it disconnects: passes its calls about sockets on to the agent, and
/// refuses all others.
///
/// # Errors
/// If the connection breaks, or the client does not send HTTP/2.
pub async fn serve_sockets<T, P>(stream: T, proxy: P) -> Result<(), hyper::Error>
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    P: Proxy,
{
    let service = TowerToHyperService::new(SocketService::new(proxy));
    server()
        .serve_connection(TokioIo::new(stream), service)
        .await
}

fn server() -> hyper::server::conn::http2::Builder<TokioExecutor> {
    let mut builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    builder
        .initial_stream_window_size(CALL_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_concurrent_streams(CALLS_MAX)
        .max_header_list_size(HEADERS_MAX_BYTES);
    builder
}

/// Serves the guest's side of the port: greets, then serves the host until it disconnects.
///
/// # Errors
/// If the port fails, or the host uses another transport.
pub async fn serve_port<T, S, C>(mut port: T, sandbox: S, containers: C) -> io::Result<()>
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    S: Sandbox,
    C: Containers,
{
    greeting::greet_host(&mut port).await?;
    let services = TowerToHyperService::new(AgentServices::new(sandbox, containers));
    let served = server().serve_connection(TokioIo::new(port), services);
    served.await.map_err(io::Error::other)
}
