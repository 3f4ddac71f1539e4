//! One ended connection: hyper's server towards the guest, and hyper's client towards the host.
//!
//! Both speak the same version of HTTP: the one that the host chose from the guest's offer. Each ends when the
//! other does. HTTP/2 is here, and HTTP/1.1 in [`http1`].

use std::pin::pin;
use std::sync::Arc;

use hyper::rt::Executor as _;
use hyper::service::service_fn;
use hyper::{client, server};
use hyper_util::rt::TokioIo;
use rustls::CommonState;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::{client::TlsStream as HostStream, server::TlsStream as GuestStream};

use crate::body::RequestBody;
use crate::control::Control;
use crate::event::Events;
use crate::forward::{Exchange, Terms, answer};
use crate::http1;
use crate::limits::{
    ERROR_STREAMS_MAX, GUEST_CONNECTION_WINDOW_BYTES, GUEST_STREAM_WINDOW_BYTES,
    HOST_CONNECTION_WINDOW_BYTES, HOST_STREAM_WINDOW_BYTES, HTTP2_HEADERS_MAX_BYTES,
    RESET_STREAMS_MAX, STREAM_SEND_BYTES, STREAMS_MAX,
};
use crate::pending::{Pending, is_clean};
use crate::raw::{Raw, Rest};
use crate::record::Reports;
use crate::served::Refused;
use crate::tasks::{TaskOwner, Tasks};
use crate::upstream::Upstream;

/// The name of HTTP/2 in a TLS handshake.
pub(crate) const H2: &[u8] = b"h2";
/// The name of HTTP/1.1 in a TLS handshake.
pub(crate) const HTTP1: &[u8] = b"http/1.1";

/// The host's end of a connection.
pub(crate) enum Host {
    /// The host proved its name.
    Proved(Box<HostStream<Raw<TcpStream>>>),
    /// The host did not, for this reason. Each request is answered with it.
    Unproved(String),
}

/// A stream of HTTP, in the version that its handshake chose.
pub(crate) struct HttpStream<S> {
    pub(crate) stream: S,
    pub(crate) is_h2: bool,
}

/// Answers the requests of a guest until a side ends. Returns false if an answer was broken off.
///
/// # Errors
///
/// Fails if the connection waited too long for its turn.
pub(crate) async fn run<S>(
    guest: GuestStream<Raw<S>>,
    host: Host,
    terms: Terms,
    events: &dyn Events,
) -> Result<bool, Refused>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let guest = HttpStream {
        is_h2: is_h2(guest.get_ref().1),
        stream: guest,
    };
    let host = match host {
        Host::Proved(host) => Ok(HttpStream {
            is_h2: is_h2(host.get_ref().1),
            stream: *host,
        }),
        Host::Unproved(reason) => Err(reason),
    };
    join(guest, host, terms, events).await
}

/// Does the same after the handshakes; `host` is the reason if the host did not prove its name.
///
/// # Errors
///
/// Fails if the connection waited too long for its turn.
pub(crate) async fn join<G, H>(
    guest: HttpStream<G>,
    host: Result<HttpStream<H>, String>,
    terms: Terms,
    events: &dyn Events,
) -> Result<bool, Refused>
where
    G: Rest + Send + 'static,
    H: Rest + Send + 'static,
{
    let (reports, receiver) = Reports::new();
    let mut pending = Pending::new(receiver, events);
    let control = Arc::new(Control::default());
    if !guest.is_h2 {
        let (host, upstream) = match host {
            Ok(host) => (Some(host.stream), Upstream::http1()),
            Err(reason) => (None, Upstream::Unproved(reason)),
        };
        let exchange = Arc::new(Exchange::new(terms, upstream, control, reports));
        return http1::serve((guest.stream, host), &exchange, &mut pending).await;
    }
    let owner = TaskOwner::new();
    let upstream = match host {
        Ok(host) => connect(host, &owner.tasks(), &control).await,
        Err(reason) => Upstream::Unproved(reason),
    };
    let exchange = Arc::new(Exchange::new(terms, upstream, control, reports));
    // Most connections are in HTTP/1.1, and need no room for it.
    let is_clean = Box::pin(serve(guest, &exchange, owner.tasks(), &mut pending)).await;
    drop(exchange);
    owner.end().await;
    Ok(is_clean)
}

/// Answers the requests of a guest over HTTP/2.
async fn serve<G>(
    guest: HttpStream<G>,
    exchange: &Arc<Exchange>,
    tasks: Tasks,
    pending: &mut Pending<'_>,
) -> bool
where
    G: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let shared = Arc::clone(exchange);
    let service = service_fn(move |request| {
        let ongoing = shared.exchanges().begin();
        answer(Arc::clone(&shared), request, ongoing)
    });
    let connection = server::conn::http2::Builder::new(tasks)
        .initial_stream_window_size(GUEST_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(GUEST_CONNECTION_WINDOW_BYTES)
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HTTP2_HEADERS_MAX_BYTES)
        .max_send_buf_size(STREAM_SEND_BYTES)
        .max_pending_accept_reset_streams(RESET_STREAMS_MAX)
        .max_local_error_reset_streams(ERROR_STREAMS_MAX)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(guest.stream), service);
    let mut connection = pin!(connection);
    let control = exchange.control();
    let mut is_closing = false;
    loop {
        tokio::select! {
            biased;
            () = pending.deliver() => {}
            () = control.ended.notified() => return false,
            () = control.closing.notified(), if !is_closing => {
                is_closing = true;
                connection.as_mut().graceful_shutdown();
            }
            result = connection.as_mut() => return is_clean(&result),
        }
    }
}

/// Begins HTTP/2 with the host, which has chosen it for the guest.
async fn connect<H>(host: HttpStream<H>, tasks: &Tasks, control: &Arc<Control>) -> Upstream
where
    H: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = client::conn::http2::Builder::new(tasks.clone());
    builder
        .initial_stream_window_size(HOST_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(HOST_CONNECTION_WINDOW_BYTES)
        .max_header_list_size(HTTP2_HEADERS_MAX_BYTES)
        .max_send_buf_size(STREAM_SEND_BYTES)
        .max_pending_accept_reset_streams(RESET_STREAMS_MAX)
        .max_local_error_reset_streams(ERROR_STREAMS_MAX);
    let io = TokioIo::new(host.stream);
    match builder.handshake::<_, RequestBody>(io).await {
        Ok((sender, connection)) => {
            tasks.execute(until_closed(connection, Arc::clone(control)));
            Upstream::http2(sender)
        }
        Err(_) => Upstream::Unproved("it closed the connection".to_owned()),
    }
}

async fn until_closed(connection: impl Future<Output = hyper::Result<()>>, control: Arc<Control>) {
    // An error reaches the requests that it breaks off.
    let _ = connection.await;
    control.host_closed();
}

/// Returns true if a handshake chose HTTP/2.
fn is_h2(state: &CommonState) -> bool {
    state.alpn_protocol() == Some(H2)
}
