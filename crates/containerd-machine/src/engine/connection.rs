use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixStream;
use tonic::body::Body;
use tower_service::Service;

use super::EngineError;

/// The flow-control window of one call, in bytes: the parts of a blob.
const CALL_WINDOW_BYTES: u32 = 1 << 20;

/// An HTTP/2 connection with containerd.
#[derive(Debug, Clone)]
pub(super) struct Connection(SendRequest<Body>);

impl Connection {
    /// Connects to the socket of containerd's gRPC services. A task of its own drives the connection.
    pub(super) async fn open(socket: &Path) -> Result<Self, EngineError> {
        let stream = UnixStream::connect(socket).await;
        let stream = stream.map_err(|source| EngineError::Connect {
            socket: socket.to_owned(),
            source,
        })?;
        let (requests, connection) = Builder::new(TokioExecutor::new())
            .initial_stream_window_size(CALL_WINDOW_BYTES)
            .initial_connection_window_size(CALL_WINDOW_BYTES)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(EngineError::Connection)?;
        tokio::spawn(connection);
        Ok(Self(requests))
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
