//! One ended connection: hyper's server towards the guest, and hyper's client towards the host.
//!
//! Both speak the same version of HTTP: the one that the host chose from the guest's offer. Each ends when the
//! other does.

use std::pin::{Pin, pin};
use std::sync::Arc;

use hyper::rt::Executor as _;
use hyper::service::service_fn;
use hyper::{client, server};
use hyper_util::rt::TokioIo;
use rustls::CommonState;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::{client::TlsStream as HostStream, server::TlsStream as GuestStream};

use crate::body::RequestBody;
use crate::control::Control;
use crate::event::{EdgeEvent, Events};
use crate::forward::{Exchange, Terms, answer};
use crate::limits::{
    ERROR_STREAMS_MAX, GUEST_CONNECTION_WINDOW_BYTES, GUEST_STREAM_WINDOW_BYTES,
    HOST_CONNECTION_WINDOW_BYTES, HOST_STREAM_WINDOW_BYTES, HTTP1_BUFFER_BYTES,
    HTTP2_HEADERS_MAX_BYTES, RESET_STREAMS_MAX, STREAM_SEND_BYTES, STREAMS_MAX,
};
use crate::record::Reports;
use crate::tasks::{TaskOwner, Tasks};
use crate::upstream::Upstream;

/// The name of HTTP/2 in a TLS handshake.
pub(crate) const H2: &[u8] = b"h2";
/// The name of HTTP/1.1 in a TLS handshake.
pub(crate) const HTTP1: &[u8] = b"http/1.1";

/// The host's end of a connection.
pub(crate) enum Host {
    /// The host proved its name.
    Proved(Box<HostStream<TcpStream>>),
    /// The host did not, for this reason. Each request is answered with it.
    Unproved(String),
}

/// The events that a connection's tasks report. All of them are delivered, also if the connection is aborted.
struct Pending<'a> {
    receiver: mpsc::UnboundedReceiver<EdgeEvent>,
    events: &'a dyn Events,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        while let Ok(event) = self.receiver.try_recv() {
            self.events.event(event);
        }
    }
}

/// A stream of HTTP, in the version that its handshake chose.
pub(crate) struct HttpStream<S> {
    pub(crate) stream: S,
    pub(crate) is_h2: bool,
}

/// Answers the requests of a guest until a side ends. Returns false if an answer was broken off.
pub(crate) async fn run<S>(
    guest: GuestStream<S>,
    host: Host,
    terms: Terms,
    events: &dyn Events,
) -> bool
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
pub(crate) async fn join<G, H>(
    guest: HttpStream<G>,
    host: Result<HttpStream<H>, String>,
    terms: Terms,
    events: &dyn Events,
) -> bool
where
    G: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (reports, receiver) = Reports::new();
    let mut pending = Pending { receiver, events };
    let owner = TaskOwner::new();
    let control = Arc::new(Control::default());
    let upstream = match host {
        Ok(host) => connect(host, &owner.tasks(), &control).await,
        Err(reason) => Upstream::Unproved(reason),
    };
    let exchange = Arc::new(Exchange::new(terms, upstream, control, reports));
    let is_clean = serve(guest, &exchange, owner.tasks(), &mut pending).await;
    drop(exchange);
    owner.end().await;
    is_clean
}

async fn serve<G>(
    guest: HttpStream<G>,
    exchange: &Arc<Exchange>,
    tasks: Tasks,
    pending: &mut Pending<'_>,
) -> bool
where
    G: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let io = TokioIo::new(guest.stream);
    let shared = Arc::clone(exchange);
    let service = service_fn(move |request| answer(Arc::clone(&shared), request));
    if guest.is_h2 {
        let connection = server::conn::http2::Builder::new(tasks)
            .initial_stream_window_size(GUEST_STREAM_WINDOW_BYTES)
            .initial_connection_window_size(GUEST_CONNECTION_WINDOW_BYTES)
            .max_concurrent_streams(STREAMS_MAX)
            .max_header_list_size(HTTP2_HEADERS_MAX_BYTES)
            .max_send_buf_size(STREAM_SEND_BYTES)
            .max_pending_accept_reset_streams(RESET_STREAMS_MAX)
            .max_local_error_reset_streams(ERROR_STREAMS_MAX)
            .auto_date_header(false)
            .serve_connection(io, service);
        let control = exchange.control();
        return drive(connection, |it| it.graceful_shutdown(), control, pending).await;
    }
    let connection = server::conn::http1::Builder::new()
        .preserve_header_case(true)
        .max_buf_size(HTTP1_BUFFER_BYTES)
        // A guest that has sent its requests may end its side, and still wants the answers.
        .half_close(true)
        .auto_date_header(false)
        .serve_connection(io, service)
        .with_upgrades();
    let control = exchange.control();
    let is_clean = drive(connection, |it| it.graceful_shutdown(), control, pending).await;
    match exchange.take_change() {
        Some(change) if is_clean => change.copy().await.is_ok(),
        _ => is_clean,
    }
}

/// Drives the guest's end until it is done, or broken off. Returns false if an answer was broken off.
async fn drive<C>(
    connection: C,
    close: impl Fn(Pin<&mut C>),
    control: &Control,
    pending: &mut Pending<'_>,
) -> bool
where
    C: Future<Output = hyper::Result<()>>,
{
    let mut connection = pin!(connection);
    let mut is_closing = false;
    loop {
        tokio::select! {
            biased;
            Some(event) = pending.receiver.recv() => pending.events.event(event),
            () = control.ended.notified() => return false,
            () = control.closing.notified(), if !is_closing => {
                is_closing = true;
                close(connection.as_mut());
            }
            // An error of the "user" is that of an answer. Any other one is the guest's: it broke its end off, or
            // does not speak HTTP.
            result = connection.as_mut() => return !result.is_err_and(|error| error.is_user()),
        }
    }
}

/// Begins HTTP with the host, in the version that it chose.
async fn connect<H>(host: HttpStream<H>, tasks: &Tasks, control: &Arc<Control>) -> Upstream
where
    H: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let io = TokioIo::new(host.stream);
    let begun = if host.is_h2 {
        let mut builder = client::conn::http2::Builder::new(tasks.clone());
        builder
            .initial_stream_window_size(HOST_STREAM_WINDOW_BYTES)
            .initial_connection_window_size(HOST_CONNECTION_WINDOW_BYTES)
            .max_header_list_size(HTTP2_HEADERS_MAX_BYTES)
            .max_send_buf_size(STREAM_SEND_BYTES)
            .max_pending_accept_reset_streams(RESET_STREAMS_MAX)
            .max_local_error_reset_streams(ERROR_STREAMS_MAX);
        let begun = builder.handshake::<_, RequestBody>(io).await;
        begun.map(|(sender, connection)| {
            tasks.execute(until_closed(connection, Arc::clone(control)));
            Upstream::http2(sender)
        })
    } else {
        let mut builder = client::conn::http1::Builder::new();
        builder
            .preserve_header_case(true)
            .max_buf_size(HTTP1_BUFFER_BYTES);
        let begun = builder.handshake::<_, RequestBody>(io).await;
        begun.map(|(sender, connection)| {
            tasks.execute(until_closed(
                connection.with_upgrades(),
                Arc::clone(control),
            ));
            Upstream::http1(sender)
        })
    };
    begun.unwrap_or_else(|_| Upstream::Unproved("it closed the connection".to_owned()))
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
