//! Connections whose TLS is ended.

use std::io;
use std::os::unix::net::UnixListener;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use msb_tls_edge::{Edge, Refused, Served};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::buffers::Buffers;
use crate::decision::TlsEnd;
use crate::limits::{EDGE_BUFFER_MAX_BYTES, EDGE_END_TIMEOUT, EDGE_FLOWS_MAX};
use crate::log_record::FlowEnd;
use crate::opening::{Opening, end_of};
use crate::proxy::ProxyFailure;
use crate::recorded_flow::RecordedFlow;
use crate::route::Route;
use crate::tcp::{HostStream, TcpFlow};
use crate::tls_events::TlsEvents;

/// The edge of a network that ends TLS, and the socket that it takes values from.
#[derive(Debug)]
pub struct EdgeParts {
    /// The edge, whose destinations are those of the network's settings.
    pub edge: Edge,
    /// The socket that the values of secrets arrive at; `None` if there are no secrets.
    pub control: Option<UnixListener>,
}

/// The edge, and the number of connections that it may serve. Clones share both.
#[derive(Debug, Clone)]
pub(crate) struct EdgeFlows {
    edge: Arc<Edge>,
    places: Arc<Semaphore>,
}

/// The right to have one connection served by the edge.
#[derive(Debug)]
pub(crate) struct EdgeFlow {
    edge: Arc<Edge>,
    _place: OwnedSemaphorePermit,
}

impl EdgeFlows {
    pub(crate) fn new(edge: Arc<Edge>) -> Self {
        Self {
            edge,
            places: Arc::new(Semaphore::new(EDGE_FLOWS_MAX)),
        }
    }

    pub(crate) fn edge(&self) -> Arc<Edge> {
        Arc::clone(&self.edge)
    }

    /// Returns the right to another connection. `None` if there are too many.
    pub(crate) fn open(&self) -> Option<EdgeFlow> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(EdgeFlow {
            edge: Arc::clone(&self.edge),
            _place: place,
        })
    }
}

impl EdgeFlow {
    /// Establishes a connection of the guest, and serves it. The host is connected to once the
    /// guest's TLS hello is known.
    pub(crate) async fn serve(
        self,
        opening: Opening,
        record: RecordedFlow,
        to: (Route, TlsEnd),
        buffers: Buffers,
    ) {
        let pipe_bytes = buffers.bytes.min(EDGE_BUFFER_MAX_BYTES);
        let Some(guest) = opening.accept(buffers) else {
            record.end(FlowEnd::PeerReset);
            return;
        };
        let record = record.of_requests();
        let events = record.tls_events();
        let streams = tokio::io::duplex(pipe_bytes);
        let end = self.join((guest, streams), to, &record, &events).await;
        record.end(end);
    }

    /// Copies between the guest and the edge until both have ended. Returns the end.
    async fn join(
        &self,
        (guest, (stream, edge_side)): (TcpFlow, (DuplexStream, DuplexStream)),
        (route, end): (Route, TlsEnd),
        record: &RecordedFlow,
        events: &TlsEvents,
    ) -> FlowEnd {
        let outcome = Arc::new(Outcome::default());
        let guest_side = GuestSide {
            stream,
            outcome: Arc::clone(&outcome),
        };
        let dialled = Arc::clone(&outcome);
        let port = route.address.port();
        let dial = move |host: Option<String>| async move {
            let connected = route.named(host).dial().await;
            if let Err(error) = &connected {
                record.note_status(ProxyFailure::status_of(error));
                dialled.end_as(end_of(error));
            }
            connected
        };
        let serve = async {
            let serve = self.edge.serve(edge_side, port, dial, end.passes, events);
            outcome.end(&serve.await);
        };
        let mut serve = pin!(serve);
        let mut joined = pin!(guest.join(guest_side, &record.traffic));
        let end = tokio::select! {
            end = &mut joined => {
                // A host that is silent would keep it.
                let _ = timeout(EDGE_END_TIMEOUT, serve).await;
                end
            }
            () = &mut serve => joined.await,
        };
        outcome.end.get().copied().unwrap_or(end)
    }
}

/// The outcome of a connection at the edge.
#[derive(Debug, Default)]
struct Outcome {
    /// The end of the flow, if the edge knows it better than the guest's connection.
    end: OnceLock<FlowEnd>,
    /// Set once the edge has ended the connection: true if it ended as both sides wanted it.
    is_clean: OnceLock<bool>,
    /// The task of the guest's connection, if it waits for that.
    waiting: Mutex<Option<Waker>>,
}

impl Outcome {
    /// Sets the end of the flow. The first one is kept.
    fn end_as(&self, end: FlowEnd) {
        let _ = self.end.set(end);
    }

    /// Keeps the outcome of a connection that has ended.
    fn end(&self, served: &Served) {
        match served {
            Served::Refused(Refused::NotAllowed) => self.end_as(FlowEnd::Denied),
            Served::Refused(Refused::Busy | Refused::BusyHttp2 | Refused::Waited) => {
                self.end_as(FlowEnd::Busy);
            }
            _ => {}
        }
        let is_clean = match served {
            Served::Ended { is_clean } | Served::Passed { is_clean } => *is_clean,
            Served::Refused(_) => false,
        };
        let _ = self.is_clean.set(is_clean);
        if let Some(waker) = self.waiting().take() {
            waker.wake();
        }
    }

    /// Returns true if the connection ended cleanly, once the edge has ended it. It has dropped its side a moment
    /// before: tasks of the connection are to end first.
    fn poll_clean(&self, context: &Context<'_>) -> Poll<bool> {
        *self.waiting() = Some(context.waker().clone());
        match self.is_clean.get() {
            Some(is_clean) => Poll::Ready(*is_clean),
            None => Poll::Pending,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The guest's side of a stream whose other side is the edge's.
#[derive(Debug)]
struct GuestSide {
    stream: DuplexStream,
    outcome: Arc<Outcome>,
}

impl GuestSide {
    /// Returns true if the edge has dropped its side, or the guest has ended its own. An edge that has only ended its
    /// direction still takes bytes.
    fn is_dropped(&mut self, context: &mut Context<'_>) -> bool {
        let written = Pin::new(&mut self.stream).poll_write(context, &[]);
        matches!(written, Poll::Ready(Err(_)))
    }
}

impl AsyncRead for GuestSide {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if buffer.filled().len() > before || !self.is_dropped(context) {
            return Poll::Ready(Ok(()));
        }
        if ready!(self.outcome.poll_clean(context)) {
            Poll::Ready(Ok(()))
        } else {
            // The guest is not to take a failure for an orderly end.
            Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
        }
    }
}

impl AsyncWrite for GuestSide {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let error = match ready!(Pin::new(&mut self.stream).poll_write(context, bytes)) {
            Ok(written) => return Poll::Ready(Ok(written)),
            Err(error) => error,
        };
        // An error would break off the guest's connection before the guest has the whole answer:
        // clients send the end of their TLS session, or of a body, after it.
        if ready!(self.outcome.poll_clean(context)) {
            Poll::Ready(Ok(bytes.len()))
        } else {
            Poll::Ready(Err(error))
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl HostStream for GuestSide {
    fn reset_at_end(&self) {}
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// Polls a future once, and returns its output if it has one.
    fn once<T>(future: impl Future<Output = T>) -> Option<T> {
        let mut context = Context::from_waker(Waker::noop());
        match pin!(future).poll(&mut context) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    fn pair() -> (GuestSide, DuplexStream, Arc<Outcome>) {
        let (stream, edge_side) = tokio::io::duplex(64);
        let outcome = Arc::new(Outcome::default());
        let guest_side = GuestSide {
            stream,
            outcome: Arc::clone(&outcome),
        };
        (guest_side, edge_side, outcome)
    }

    #[tokio::test]
    async fn a_failure_is_no_orderly_end_and_what_precedes_it_arrives() {
        for served in [
            Served::Refused(Refused::NotAllowed),
            Served::Ended { is_clean: false },
            Served::Passed { is_clean: false },
        ] {
            let (mut guest_side, mut edge_side, outcome) = pair();
            edge_side.write_all(b"alert").await.unwrap();
            drop(edge_side);
            let mut read = [0; 5];
            guest_side.read_exact(&mut read).await.unwrap();
            assert_eq!(&read, b"alert");
            // The edge has dropped its side, and tells a moment later how the connection ended.
            assert!(once(guest_side.read(&mut read)).is_none());
            outcome.end(&served);
            let error = guest_side.read(&mut read).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
            assert!(guest_side.write(b"more").await.is_err());
        }
    }

    #[tokio::test]
    async fn what_a_guest_sends_after_an_orderly_end_is_dropped() {
        let (mut guest_side, edge_side, outcome) = pair();
        drop(edge_side);
        assert!(once(guest_side.write(b"early")).is_none());
        assert!(once(guest_side.read(&mut [0; 5])).is_none());
        outcome.end(&Served::Ended { is_clean: true });
        assert_eq!(guest_side.write(b"late").await.unwrap(), 4);
        assert_eq!(guest_side.read(&mut [0; 5]).await.unwrap(), 0);
        assert_eq!(outcome.end.get(), None);
    }

    #[tokio::test]
    async fn an_end_of_one_direction_is_told_at_once() {
        let (mut guest_side, mut edge_side, _) = pair();
        edge_side.shutdown().await.unwrap();
        assert_eq!(once(guest_side.read(&mut [0; 5])).unwrap().unwrap(), 0);
        guest_side.write_all(b"more").await.unwrap();
        let mut read = [0; 4];
        edge_side.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"more");
    }

    #[tokio::test]
    async fn a_guest_that_waits_for_the_end_is_woken() {
        let (mut guest_side, edge_side, outcome) = pair();
        drop(edge_side);
        let reading = tokio::spawn(async move { guest_side.read(&mut [0; 5]).await });
        tokio::task::yield_now().await;
        assert!(!reading.is_finished());
        outcome.end(&Served::Ended { is_clean: true });
        assert_eq!(reading.await.unwrap().unwrap(), 0);
    }

    #[test]
    fn a_refusal_ends_the_flow_unless_the_host_has() {
        let (outcome, refused) = (Outcome::default(), Served::Refused(Refused::NotAllowed));
        outcome.end(&refused);
        assert_eq!(outcome.end.get(), Some(&FlowEnd::Denied));
        for busy in [Refused::Busy, Refused::BusyHttp2, Refused::Waited] {
            let outcome = Outcome::default();
            outcome.end(&Served::Refused(busy));
            assert_eq!(outcome.end.get(), Some(&FlowEnd::Busy));
        }
        let outcome = Outcome::default();
        outcome.end_as(FlowEnd::Timeout);
        outcome.end(&refused);
        assert_eq!(outcome.end.get(), Some(&FlowEnd::Timeout));
    }
}
