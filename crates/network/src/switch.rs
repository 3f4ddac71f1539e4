//! The switch that passes every frame of the guest to its flow.

use std::net::{IpAddr, SocketAddrV4};
use std::ops::Range;
use std::sync::Arc;

use smoltcp::wire::Icmpv4DstUnreachable;
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::Protocol;
use crate::budget::Budget;
use crate::buffers::Buffers;
use crate::decision::{Reason, TlsEnd};
use crate::edge::EdgeFlows;
use crate::flows::{Flows, Origin};
use crate::hellos::Hellos;
use crate::limits::{FLOW_QUEUES_BYTES, TCP_BUFFERS_BYTES, TCP_FLOWS_MAX, UDP_FLOWS_MAX};
use crate::link::{DNS_PORT, GATEWAY_ADDRESS, host_address};
use crate::log_record::FlowEnd;
use crate::names::{NameService, Transport};
use crate::opening::{Opening, serve_names};
use crate::packet::{FlowKey, Kind, Packet};
use crate::policy::Policy;
use crate::published::{Arrival, ArrivedBy};
use crate::queue::{Receiver, Waiting};
use crate::recorded_flow::RecordedFlow;
use crate::recorder::Recorder;
use crate::replies;
use crate::route::{Route, Routes};
use crate::tcp::{TcpFlow, prepare};
use crate::udp::{HostEnd, UdpFlow, why_unreachable};
use crate::wire::Wire;

/// The gateway's switch: it takes frames from the guest and passes them to flows.
pub(crate) struct Switch {
    policy: Arc<Policy>,
    names: Arc<NameService>,
    ways: Ways,
    to_guest: mpsc::Sender<Vec<u8>>,
    tcp: Flows,
    udp: Flows,
    /// The memory for larger buffers of the guest's connections. The next field is for inbound
    /// ones.
    buffers: Budget,
    arrivals_buffers: Budget,
    recorder: Recorder,
}

/// The ways of connections out of the network.
pub(crate) struct Ways {
    /// `None` if no TLS is ended.
    pub(crate) edge: Option<EdgeFlows>,
    pub(crate) hellos: Hellos,
    pub(crate) routes: Routes,
}

/// The destination of a flow that the guest opens.
enum Target {
    /// The way to an address, and the rule that allows it.
    Host(Route, String),
    /// The same, and the treatment of the connection's TLS.
    Edge(Route, String, TlsEnd),
    Names,
    Denied,
}

impl Switch {
    pub(crate) fn new(
        policy: Arc<Policy>,
        names: Arc<NameService>,
        ways: Ways,
        to_guest: mpsc::Sender<Vec<u8>>,
        recorder: Recorder,
    ) -> Self {
        let queued = Budget::new(FLOW_QUEUES_BYTES);
        Self {
            policy,
            names,
            ways,
            to_guest,
            tcp: Flows::new(TCP_FLOWS_MAX, queued.clone()),
            udp: Flows::new(UDP_FLOWS_MAX, queued),
            buffers: Budget::new(TCP_BUFFERS_BYTES),
            arrivals_buffers: Budget::new(TCP_BUFFERS_BYTES),
            recorder,
        }
    }

    /// Takes a frame from the guest. A frame without a destination is dropped.
    pub(crate) fn take(&mut self, frame: &[u8]) {
        let Some(packet) = Packet::parse(frame) else {
            self.reply(replies::address_resolution(frame));
            return;
        };
        match packet.kind {
            Kind::Tcp { key, opens } => self.take_segment(key, packet.bytes, opens),
            Kind::Udp { key, payload } => self.take_datagram(key, packet.bytes, payload),
            Kind::Icmp { destination } if destination == GATEWAY_ADDRESS => {
                self.reply(replies::echo(packet.bytes));
            }
            // Other hosts cannot be pinged, and ICMP errors from the guest have no recipient.
            Kind::Icmp { .. } => {}
        }
    }

    fn take_segment(&mut self, key: FlowKey, segment: &[u8], opens: bool) {
        if self.tcp.deliver(&key, segment, 0..segment.len()) {
            return;
        }
        if !opens {
            self.reply(replies::reset(segment));
            return;
        }
        // If there is no room for a flow, the segment is dropped, and the guest repeats it.
        match self.target(Protocol::Tcp, key.remote) {
            Target::Denied => self.reply(replies::unreachable(segment, DENIED)),
            Target::Names => {
                if let Some(place) = self.names.stream_place()
                    && let Some(opening) = self.open_stream(key, segment)
                {
                    tokio::spawn(serve_names(opening, Arc::clone(&self.names), place));
                }
            }
            Target::Host(route, rule) => {
                if let Some(opening) = self.open_stream(key, segment) {
                    let flow = self.record(Protocol::Tcp, route.address, rule);
                    let hello = self.ways.hellos.watch(route.address.port(), &flow);
                    tokio::spawn(opening.connect(route, flow, hello, self.buffers.clone()));
                }
            }
            Target::Edge(route, rule, end) => {
                if let Some(flow) = self.ways.edge.as_ref().and_then(EdgeFlows::open)
                    && let Some(opening) = self.open_stream(key, segment)
                {
                    let record = self.record(Protocol::Tcp, route.address, rule);
                    let buffers = Buffers::new(&self.buffers);
                    tokio::spawn(flow.serve(opening, record, (route, end), buffers));
                }
            }
        }
    }

    fn open_stream(&mut self, key: FlowKey, syn: &[u8]) -> Option<Opening> {
        Some(Opening {
            key,
            packets: self.tcp.open(key, Origin::Guest)?,
            syn: Waiting::uncounted(syn),
            wire: Wire::new(self.to_guest.clone()),
        })
    }

    fn take_datagram(&mut self, key: FlowKey, packet: &[u8], payload: Range<usize>) {
        if key.remote == SocketAddrV4::new(GATEWAY_ADDRESS, DNS_PORT) {
            self.take_question(key, &packet[payload]);
            return;
        }
        if self.udp.deliver(&key, packet, payload.clone()) {
            return;
        }
        let Target::Host(Route { address, .. }, rule) = self.target(Protocol::Udp, key.remote)
        else {
            self.reply(replies::unreachable(packet, DENIED));
            return;
        };
        let Some(packets) = self.udp.open(key, Origin::Guest) else {
            return;
        };
        let flow = self.record(Protocol::Udp, address, rule);
        match HostEnd::connect(address) {
            Ok(host) => {
                packets.open();
                self.udp.deliver(&key, packet, payload);
                tokio::spawn(join_datagrams(self.udp_flow(key, packets), host, flow));
            }
            Err(error) => {
                flow.end(FlowEnd::Unreachable);
                self.reply(replies::unreachable(packet, why_unreachable(&error)));
            }
        }
    }

    /// Records a flow that the guest opens.
    fn record(&self, protocol: Protocol, address: SocketAddrV4, rule: String) -> RecordedFlow {
        RecordedFlow::outbound(&self.recorder, protocol, address, rule)
    }

    /// Answers a DNS query, unless too many are in progress.
    fn take_question(&self, key: FlowKey, question: &[u8]) {
        let Some(answer) = self.names.answer(question, Transport::Datagram) else {
            return;
        };
        let to_guest = self.to_guest.clone();
        tokio::spawn(async move {
            let answer = answer.await;
            let frame =
                answer.and_then(|answer| replies::datagram(key.remote, key.guest_port, &answer));
            if let Some(frame) = frame {
                // A guest that does not read loses answers, because no budget counts waiting ones.
                let _ = to_guest.try_send(frame);
            }
        });
    }

    fn udp_flow(&self, key: FlowKey, packets: Receiver) -> UdpFlow {
        UdpFlow {
            key,
            packets,
            to_guest: self.to_guest.clone(),
        }
    }

    /// Admits an inbound connection or flow to the guest.
    pub(crate) fn admit(&mut self, arrival: Arrival) {
        let (peer, guest_port) = (arrival.peer, arrival.guest_port);
        match arrival.host {
            ArrivedBy::Stream(stream) => self.admit_stream(stream, peer, guest_port),
            ArrivedBy::Datagrams(host) => {
                if let Some(key) = self.udp.key_from_outside(guest_port)
                    && let Some(packets) = self.udp.open(key, Origin::Peer(peer))
                {
                    let recorder = &self.recorder;
                    let flow = RecordedFlow::inbound(recorder, Protocol::Udp, peer, guest_port);
                    tokio::spawn(join_datagrams(self.udp_flow(key, packets), host, flow));
                }
            }
        }
    }

    fn admit_stream(&mut self, stream: TcpStream, peer: IpAddr, guest_port: u16) {
        let Some(key) = self.tcp.key_from_outside(guest_port) else {
            return;
        };
        let Some(packets) = self.tcp.open(key, Origin::Peer(peer)) else {
            return;
        };
        let wire = Wire::new(self.to_guest.clone());
        let buffers = Buffers::new(&self.arrivals_buffers);
        let recorded = RecordedFlow::inbound(&self.recorder, Protocol::Tcp, peer, guest_port);
        tokio::spawn(async move {
            let end = if prepare(&stream).is_ok()
                && let Some(flow) = TcpFlow::connect(key, wire, packets, buffers)
            {
                flow.join(stream, &recorded.traffic).await
            } else {
                FlowEnd::PeerReset
            };
            recorded.end(end);
        });
    }

    /// Returns the target of the guest's packets to `remote`. The gateway stands for the host's
    /// loopback.
    fn target(&self, protocol: Protocol, remote: SocketAddrV4) -> Target {
        if remote == SocketAddrV4::new(GATEWAY_ADDRESS, DNS_PORT) {
            return Target::Names;
        }
        let address = SocketAddrV4::new(host_address(*remote.ip()), remote.port());
        let decision = self.policy.decide(address);
        if !decision.is_allowed() {
            self.recorder.refuse(protocol, address, decision.reason);
            return Target::Denied;
        }
        let rule = decision.reason.to_string();
        let edge = self.ways.edge.as_ref();
        let end = edge.and_then(|_| self.policy.tls_end(address, decision.reason));
        let resolved = || self.recorder.name_of(*address.ip());
        let by = (&*self.policy, decision.reason);
        let route = self.ways.routes.to(address, by, resolved);
        match (end, protocol) {
            (None, Protocol::Udp) if route.is_proxied() => {
                self.recorder.refuse(protocol, address, Reason::Proxy);
                Target::Denied
            }
            (None, _) => Target::Host(route, rule),
            (Some(end), Protocol::Tcp) => Target::Edge(route, rule, end),
            (Some(_), Protocol::Udp) => {
                self.recorder.refuse(protocol, address, Reason::Quic);
                Target::Denied
            }
        }
    }

    /// Sends a frame of the gateway, unless the queue to the guest is full.
    fn reply(&self, frame: Option<Vec<u8>>) {
        if let Some(frame) = frame {
            let _ = self.to_guest.try_send(frame);
        }
    }
}

/// The ICMP code for a destination that the rules deny. A connection fails at once, and with
/// another error than one that the destination refuses.
const DENIED: Icmpv4DstUnreachable = Icmpv4DstUnreachable::CommProhibited;

async fn join_datagrams(datagrams: UdpFlow, host: HostEnd, flow: RecordedFlow) {
    let end = datagrams.join(host, &flow.traffic).await;
    flow.end(end);
}

#[cfg(test)]
mod tests;
