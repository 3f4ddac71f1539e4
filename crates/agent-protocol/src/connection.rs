use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
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
use crate::heartbeat::{self, Heard, Heartbeat};
use crate::services::{Services, agent_service};
use crate::v1::keeper_server::Keeper;
use crate::v1::sandbox_server::Sandbox;

/// The most calls at a time on one connection.
const CALLS_MAX: u32 = 256;
/// The most bytes of one call that wait for their reader.
const CALL_WINDOW_BYTES: u32 = 128 << 10;
/// Room for every call's window, so that calls whose readers sleep never stop the others.
const CONNECTION_WINDOW_BYTES: u32 = CALLS_MAX * CALL_WINDOW_BYTES;
/// The longest list of headers, in bytes.
const HEADERS_MAX_BYTES: u32 = 16 << 10;

/// How long a peer may take to give a sign of life before the connection ends: for ever. Whoever waits
/// gives up sooner, and the connection is there when a paused machine goes on.
const SIGN_LIMIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The client's end of an HTTP/2 connection.
#[derive(Debug, Clone)]
pub struct Connection(SendRequest<Body>);

impl Connection {
    /// Begins a connection, which a task of its own drives.
    pub(crate) async fn open<T>(stream: T) -> Result<(Self, Heartbeat), hyper::Error>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let heartbeat = Heartbeat::default();
        let stream = Heard::new(stream, heartbeat.clone());
        let (requests, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(heartbeat::INTERVAL)
            .keep_alive_timeout(SIGN_LIMIT)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(CALL_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_header_list_size(HEADERS_MAX_BYTES)
            .handshake(TokioIo::new(stream))
            .await?;
        tokio::spawn(connection);
        Ok((Self(requests), heartbeat))
    }
}

impl Service<Request<Body>> for Connection {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

/// Serves a client of the agent until it has gone.
///
/// # Errors
/// When the connection breaks, or brings what is not HTTP/2.
pub async fn serve<T, S>(stream: T, sandbox: S) -> Result<(), hyper::Error>
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    S: Sandbox,
{
    let service = TowerToHyperService::new(agent_service(sandbox));
    server()
        .serve_connection(TokioIo::new(stream), service)
        .await
}

/// Serves a client of the sandbox's process until it has gone.
///
/// # Errors
/// When the connection breaks, or brings what is not HTTP/2.
pub async fn serve_kept<T, S>(stream: T, service: S) -> Result<(), hyper::Error>
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    S: Sandbox + Keeper + Clone,
{
    let services = TowerToHyperService::new(Services::new(service));
    server()
        .serve_connection(TokioIo::new(stream), services)
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

/// The guest's side of the port: greets, then serves the host until it has gone.
///
/// # Errors
/// When the port fails, or the host speaks another transport.
pub async fn serve_port<T, S>(mut port: T, service: S) -> io::Result<()>
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    S: Sandbox,
{
    greeting::greet_host(&mut port).await?;
    serve(port, service).await.map_err(io::Error::other)
}
