//! Connections that the guest opens, from their first segment on.

use std::io;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::budget::Budget;
use crate::buffers::Buffers;
use crate::hellos::HelloWatch;
use crate::limits::TCP_BUFFER_MIN_BYTES;
use crate::log_record::FlowEnd;
use crate::names::NameService;
use crate::packet::FlowKey;
use crate::proxy::ProxyFailure;
use crate::queue::{Receiver, Waiting};
use crate::recorded_flow::{RecordedFlow, Traffic};
use crate::replies;
use crate::route::Route;
use crate::tcp::TcpFlow;
use crate::udp::why_unreachable;
use crate::watched::Watched;
use crate::wire::Wire;

/// A connection of the guest that is not established yet.
pub(crate) struct Opening {
    pub(crate) key: FlowKey,
    pub(crate) syn: Waiting,
    pub(crate) wire: Wire,
    pub(crate) packets: Receiver,
}

impl Opening {
    /// Connects to a host, then establishes the guest's connection. Until then only the guest's
    /// first segment is kept. `hello` sees the guest's first bytes as they pass.
    pub(crate) async fn connect(
        self,
        route: Route,
        flow: RecordedFlow,
        hello: Option<HelloWatch>,
        buffers: Budget,
    ) {
        let error = match route.dial().await {
            Ok(stream) => {
                let end = match self.accept(Buffers::new(&buffers)) {
                    Some(tcp) => tcp.join(Watched::new(stream, hello), &flow.traffic).await,
                    None => FlowEnd::PeerReset,
                };
                flow.end(end);
                return;
            }
            Err(error) => error,
        };
        flow.note_status(ProxyFailure::status_of(&error));
        flow.end(end_of(&error));
        let syn = self.syn.packet();
        let frame = match error.kind() {
            io::ErrorKind::ConnectionRefused => replies::reset(syn),
            _ => replies::unreachable(syn, why_unreachable(&error)),
        };
        send(&self.wire.to_guest, frame).await;
    }

    /// Refuses the connection, because the rules deny it.
    pub(crate) async fn refuse(self) {
        let frame = replies::unreachable(self.syn.packet(), replies::DENIED);
        send(&self.wire.to_guest, frame).await;
    }

    /// Establishes the guest's connection. `None` if its first segment cannot be taken.
    pub(crate) fn accept(mut self, buffers: Buffers) -> Option<TcpFlow> {
        self.wire.from_guest.push_back(self.syn);
        TcpFlow::accept(self.key, self.wire, self.packets, buffers)
    }
}

/// Returns the end of a flow whose host could not be connected to.
pub(crate) fn end_of(error: &io::Error) -> FlowEnd {
    if let Some(failure) = ProxyFailure::of(error) {
        return failure.end();
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => FlowEnd::Refused,
        io::ErrorKind::TimedOut => FlowEnd::Timeout,
        _ => FlowEnd::Unreachable,
    }
}

/// Answers the queries of a connection.
pub(crate) async fn serve_names(
    opening: Opening,
    names: Arc<NameService>,
    _place: OwnedSemaphorePermit,
) {
    let (guest_side, service_side) = tokio::io::duplex(TCP_BUFFER_MIN_BYTES);
    let Some(flow) = opening.accept(Buffers::new(&Budget::new(0))) else {
        return;
    };
    // Both futures end with the connection. The queries have records of their own.
    let traffic = Traffic::default();
    let joined = flow.join(guest_side, &traffic);
    let _ = tokio::join!(joined, names.serve_stream(service_side));
}

/// Sends a frame once there is room for it. A guest that has gone does not need it.
async fn send(to_guest: &mpsc::Sender<Vec<u8>>, frame: Option<Vec<u8>>) {
    if let Some(frame) = frame {
        let _ = to_guest.send(frame).await;
    }
}
