use std::convert::Infallible;
use std::future::poll_fn;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

use anyhow::{Context as _, Result, ensure};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use rustls::pki_types::ServerName;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::proxy::{ENDED, PASSED, Proxy};
use super::upstream::{Upstream, config};

/// The name of HTTP/2 in a handshake.
const H2: &[u8] = b"h2";
/// A piece of a body.
static PIECE: [u8; 64 << 10] = [b'.'; 64 << 10];
/// The windows of the client, as those that msb has towards hosts.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 4 << 20;

/// A body of this many bytes.
struct Dots(u64);

impl Body for Dots {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let length = usize::try_from(self.0).unwrap_or(usize::MAX);
        let piece = PIECE.get(..length).unwrap_or(&PIECE);
        self.0 -= piece.len() as u64;
        let frame = Frame::data(Bytes::from_static(piece));
        Poll::Ready((!piece.is_empty()).then_some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.0 == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0)
    }
}

/// Starts a server of HTTP/2 with these names, in a thread that serves until this program ends.
pub(super) fn start(names: &[&str]) -> Result<Upstream> {
    let (mut config, authority) = config(names)?;
    config.alpn_protocols = vec![H2.to_vec()];
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = runtime()?;
    thread::spawn(move || runtime.block_on(serve(listener, Arc::new(config))));
    Ok(Upstream { address, authority })
}

async fn serve(listener: std::net::TcpListener, config: Arc<ServerConfig>) -> Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let acceptor = TlsAcceptor::from(Arc::clone(&config));
        tokio::spawn(async move {
            let stream = acceptor.accept(socket).await?;
            let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            let serving = builder.serve_connection(TokioIo::new(stream), service_fn(answer));
            serving.await?;
            anyhow::Ok(())
        });
    }
}

/// Answers with as many bytes as the path says.
async fn answer<B>(request: Request<B>) -> Result<Response<Dots>, std::num::ParseIntError> {
    let length = request.uri().path().trim_start_matches('/').parse()?;
    Ok(Response::new(Dots(length)))
}

/// A connection in HTTP/2 through the proxy.
pub(super) struct Http2Client {
    runtime: Runtime,
    sender: SendRequest<Dots>,
    host: &'static str,
    credential: String,
}

impl Http2Client {
    /// Connects to the host whose TLS is ended, or to the other one.
    pub(super) fn connect(proxy: &Proxy, is_ended: bool) -> Result<Self> {
        let host = if is_ended { ENDED } else { PASSED };
        let mut config = (*proxy.client).clone();
        config.alpn_protocols = vec![H2.to_vec()];
        let runtime = runtime()?;
        let sender = runtime.block_on(async {
            let socket = TcpStream::connect(proxy.address).await?;
            socket.set_nodelay(true)?;
            let connector = TlsConnector::from(Arc::new(config));
            let stream = connector.connect(ServerName::try_from(host)?, socket);
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder
                .initial_stream_window_size(STREAM_WINDOW_BYTES)
                .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
            let (sender, connection) = builder.handshake(TokioIo::new(stream.await?)).await?;
            tokio::spawn(connection);
            anyhow::Ok(sender)
        })?;
        Ok(Self {
            runtime,
            sender,
            host,
            credential: format!("Bearer {}", proxy.placeholder),
        })
    }

    /// Asks for an answer of this length, and reads it.
    pub(super) fn get(&mut self, bytes: u64) -> Result<()> {
        let request = Request::get(format!("https://{}/{bytes}", self.host))
            .header("authorization", &self.credential)
            .body(Dots(0))?;
        let sender = &mut self.sender;
        self.runtime.block_on(async {
            sender.ready().await?;
            let answer = sender.send_request(request).await?;
            ensure!(answer.status().is_success(), "{}", answer.status());
            let mut body = answer.into_body();
            let mut received: u64 = 0;
            while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
            {
                let frame = frame.context("the answer breaks off")?;
                received += frame.data_ref().map_or(0, |data| data.len() as u64);
            }
            ensure!(received == bytes, "{received} of {bytes} bytes");
            Ok(())
        })
    }
}

fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}
