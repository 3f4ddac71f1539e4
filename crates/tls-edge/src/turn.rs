//! The two ends of HTTP/1.1 during one turn of a connection.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1 as client;
use hyper::server::conn::http1 as server;
use hyper::service::Service;
use hyper_util::rt::TokioIo;

use crate::body::{AnswerBody, RequestBody};
use crate::forward::{Exchange, answer};
use crate::limits::HTTP1_BUFFER_BYTES;
use crate::raw::Rest;
use crate::side::{Side, SideState};
use crate::upstream::BrokenOff;

/// The answers to the requests of a turn.
struct Answers(Arc<Exchange>);

/// An answer on its way.
type Answer = Pin<Box<dyn Future<Output = Result<Response<AnswerBody>, BrokenOff>> + Send>>;

impl Service<Request<Incoming>> for Answers {
    type Response = Response<AnswerBody>;
    type Error = BrokenOff;
    type Future = Answer;

    fn call(&self, request: Request<Incoming>) -> Answer {
        // A request is under way from here on, and not only once its future is polled.
        let ongoing = self.0.exchanges().begin();
        Box::pin(answer(Arc::clone(&self.0), request, ongoing))
    }
}

/// The two ends of HTTP.
pub(crate) struct Ends<G: Rest, H: Rest> {
    server: server::Connection<TokioIo<Side<G>>, Answers>,
    guest: Arc<SideState>,
    client: Option<Client<H>>,
    exchange: Arc<Exchange>,
}

/// The end towards the host.
struct Client<H: Rest> {
    connection: client::Connection<TokioIo<Side<H>>, RequestBody>,
    host: Arc<SideState>,
    has_ended: bool,
}

/// The end of a turn, or of its connection.
#[derive(Debug)]
pub(crate) enum Event {
    /// All requests have ended, and neither side has sent more.
    Rests,
    /// The guest's end is done, with an error if a request or an answer was broken off.
    Served(hyper::Result<()>),
    /// The guest's end is to be broken off.
    Broken,
    /// No request came for too long.
    Lull,
}

impl<G, H> Ends<G, H>
where
    G: Rest + Send + 'static,
    H: Rest + Send + 'static,
{
    /// Begins a turn. There is no host if it did not prove its name.
    ///
    /// # Errors
    ///
    /// Fails if HTTP cannot begin with the host.
    pub(crate) async fn begin(
        guest: Side<G>,
        host: Option<Side<H>>,
        exchange: &Arc<Exchange>,
    ) -> hyper::Result<Self> {
        exchange.exchanges().begin_turn();
        let client = match host {
            Some(host) => Some(Client::begin(host, exchange).await?),
            None => None,
        };
        let state = guest.state();
        let server = server::Builder::new()
            .preserve_header_case(true)
            .max_buf_size(HTTP1_BUFFER_BYTES)
            // A guest that has sent its requests may end its side, and still wants the answers.
            .half_close(true)
            .auto_date_header(false)
            .serve_connection(TokioIo::new(guest), Answers(Arc::clone(exchange)));
        Ok(Self {
            server,
            guest: state,
            client,
            exchange: Arc::clone(exchange),
        })
    }

    /// Waits for the end of the turn. A connection that is closing does not rest.
    pub(crate) async fn next(&mut self, is_closing: bool) -> Event {
        poll_fn(|context| self.poll(context, is_closing)).await
    }

    fn poll(&mut self, context: &mut Context<'_>, is_closing: bool) -> Poll<Event> {
        if let Some(client) = &mut self.client {
            client.poll(context, &self.exchange);
        }
        if let Poll::Ready(result) = Pin::new(&mut self.server).poll(context) {
            return Poll::Ready(Event::Served(result));
        }
        if !is_closing && self.is_at_rest() {
            return Poll::Ready(Event::Rests);
        }
        Poll::Pending
    }

    /// Returns true if all requests have ended and HTTP waits for the next one: all was read to its end, neither end has
    /// anything to write, and both have asked in vain for more.
    fn is_at_rest(&self) -> bool {
        let exchanges = self.exchange.exchanges();
        // A part of a head that was read is no reason to begin anew.
        let has_ended = exchanges.has_begun() || !self.guest.has_read();
        let client = self.client.as_ref();
        let is_host_still = client.is_none_or(|client| !client.has_ended && client.host.is_still());
        has_ended && exchanges.are_whole() && self.guest.is_still() && is_host_still
    }

    /// Has the guest's end accept no more requests, and close after the answers to those that it accepted.
    pub(crate) fn close(&mut self) {
        Pin::new(&mut self.server).graceful_shutdown();
    }

    /// Ends HTTP on both sides. `None` if the host has sent what nobody asked for.
    pub(crate) async fn rest(self) -> Option<(Side<G>, Option<Side<H>>)> {
        self.exchange.upstream().set(None).await;
        let guest = guest_of(self.server);
        let Some(client) = self.client else {
            return Some((guest, None));
        };
        let parts = client.connection.into_parts();
        if !parts.read_buf.is_empty() {
            return None;
        }
        let host = parts.io.into_inner().again(parts.read_buf);
        Some((guest, Some(host)))
    }

    /// Ends HTTP on both sides, which have agreed on another protocol. `None` if there is no host.
    pub(crate) async fn hand_over(self) -> Option<(Side<G>, Side<H>)> {
        let mut client = self.client?;
        if !client.has_ended {
            // It ends with the answer that changed the protocol.
            poll_fn(|context| client.connection.poll_without_shutdown(context))
                .await
                .ok()?;
        }
        let parts = client.connection.into_parts();
        let host = parts.io.into_inner().again(parts.read_buf);
        Some((guest_of(self.server), host))
    }

    /// Returns the guest's side, whose HTTP is over.
    pub(crate) fn into_guest(self) -> Side<G> {
        guest_of(self.server)
    }
}

/// Takes the guest's side, and the bytes that were read of its next message.
fn guest_of<G: Rest>(server: server::Connection<TokioIo<Side<G>>, Answers>) -> Side<G> {
    let parts = server.into_parts();
    parts.io.into_inner().again(parts.read_buf)
}

impl<H: Rest + Send + 'static> Client<H> {
    async fn begin(host: Side<H>, exchange: &Exchange) -> hyper::Result<Self> {
        let state = host.state();
        let mut builder = client::Builder::new();
        builder
            .preserve_header_case(true)
            .max_buf_size(HTTP1_BUFFER_BYTES);
        let begun = builder
            .handshake::<_, RequestBody>(TokioIo::new(host))
            .await;
        let (sender, connection) = begun?;
        exchange.upstream().set(Some(sender)).await;
        Ok(Self {
            connection,
            host: state,
            has_ended: false,
        })
    }

    fn poll(&mut self, context: &mut Context<'_>, exchange: &Exchange) {
        if self.has_ended {
            return;
        }
        // An error reaches the requests that it breaks off.
        if Pin::new(&mut self.connection).poll(context).is_ready() {
            self.has_ended = true;
            exchange.control().host_closed();
        }
    }
}
