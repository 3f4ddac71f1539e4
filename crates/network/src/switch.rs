//! The switch that passes every frame of the guest to its flow.

use std::net::{IpAddr, SocketAddrV4};
use std::ops::Range;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::Protocol;
use crate::asked_flow::AskedFlow;
use crate::asks::Asked;
use crate::budget::Budget;
use crate::buffers::Buffers;
use crate::decision::{Reason, TlsEnd};
use crate::edge::EdgeFlows;
use crate::flows::{Flows, Origin};
use crate::gate::Gate;
use crate::limits::{FLOW_QUEUES_BYTES, TCP_BUFFERS_BYTES, TCP_FLOWS_MAX, UDP_FLOWS_MAX};
use crate::link::{DNS_PORT, GATEWAY_ADDRESS, host_address};
use crate::log_record::FlowEnd;
use crate::name::DomainName;
use crate::names::{NameService, Transport};
use crate::opening::{Opening, serve_names};
use crate::packet::{FlowKey, Kind, Packet};
use crate::permit::Permit;
use crate::published::{Arrival, ArrivedBy};
use crate::queue::{Receiver, Waiting};
use crate::recorded_flow::RecordedFlow;
use crate::recorder::Recorder;
use crate::replies::{self, DENIED};
use crate::revocation::Revocation;
use crate::route::Route;
use crate::tcp::{TcpFlow, prepare};
use crate::udp::{HostEnd, UdpFlow, why_unreachable};
use crate::ways::Ways;
use crate::wire::Wire;

/// The gateway's switch: it takes frames from the guest and passes them to flows.
pub(crate) struct Switch {
    gate: Gate,
    names: Arc<NameService>,
    ways: Arc<Ways>,
    to_guest: mpsc::Sender<Vec<u8>>,
    tcp: Flows,
    udp: Flows,
    /// The memory for larger buffers of the guest's connections. The next field is for inbound
    /// ones.
    buffers: Budget,
    arrivals_buffers: Budget,
    recorder: Recorder,
}

/// The destination of a flow that the guest opens.
enum Target {
    /// The way to an address, and the rule that allows it.
    Host(Route, Permit),
    /// The same, and the treatment of the connection's TLS.
    Edge(Route, Permit, TlsEnd),
    /// An address that the user is asked about.
    Asked(AskedFlow),
    Names,
    Denied,
}

impl Switch {
    pub(crate) fn new(
        gate: Gate,
        names: Arc<NameService>,
        ways: Ways,
        to_guest: mpsc::Sender<Vec<u8>>,
        recorder: Recorder,
    ) -> Self {
        let queued = Budget::new(FLOW_QUEUES_BYTES);
        Self {
            gate,
            names,
            ways: Arc::new(ways),
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
            Target::Host(route, permit) => {
                if let Some(opening) = self.open_stream(key, segment) {
                    let flow = self.record(Protocol::Tcp, route.address, permit);
                    let hello = self.ways.hellos.watch(route.address.port(), &flow);
                    tokio::spawn(opening.connect(route, flow, hello, self.buffers.clone()));
                }
            }
            Target::Asked(flow) => {
                if let Some(opening) = self.open_stream(key, segment) {
                    tokio::spawn(flow.connect(opening, self.buffers.clone()));
                }
            }
            Target::Edge(route, permit, end) => {
                if let Some(flow) = self.ways.edge.as_ref().and_then(EdgeFlows::open)
                    && let Some(opening) = self.open_stream(key, segment)
                {
                    let record = self.record(Protocol::Tcp, route.address, permit);
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
        let (address, permit) = match self.target(Protocol::Udp, key.remote) {
            Target::Host(route, permit) => (route.address, permit),
            Target::Asked(flow) => {
                if let Some(packets) = self.udp.open(key, Origin::Guest) {
                    let waiting = self.udp_flow(key, packets);
                    tokio::spawn(flow.exchange(waiting, packet.to_vec()));
                }
                return;
            }
            Target::Edge(..) | Target::Names | Target::Denied => {
                self.reply(replies::unreachable(packet, DENIED));
                return;
            }
        };
        let Some(packets) = self.udp.open(key, Origin::Guest) else {
            return;
        };
        let flow = self.record(Protocol::Udp, address, permit);
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
    fn record(&self, protocol: Protocol, address: SocketAddrV4, permit: Permit) -> RecordedFlow {
        let revocation = Revocation::new(&self.gate, address, permit);
        RecordedFlow::outbound(&self.recorder, protocol, revocation)
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
        let policy = self.gate.policy();
        let decision = policy.decide(address);
        let edge = self.ways.edge.as_ref();
        let end = edge.and_then(|_| policy.tls_end(address, decision.reason));
        let is_quic = end.is_some() && protocol == Protocol::Udp;
        if !decision.is_allowed() {
            let is_asked = policy.asks_about(decision.reason) && !is_quic;
            return self.refuse(protocol, address, decision.reason, is_asked);
        }
        if is_quic {
            return self.refuse(protocol, address, Reason::Quic, false);
        }
        let resolved = || self.recorder.name_of(*address.ip());
        let by = (&*policy, decision.reason);
        let route = self.ways.routes.to(address, by, resolved);
        if protocol == Protocol::Udp && route.is_proxied() {
            return self.refuse(protocol, address, Reason::Proxy, false);
        }
        let permit = Permit::from(decision.reason);
        match end {
            None => Target::Host(route, permit),
            Some(end) => Target::Edge(route, permit, end),
        }
    }

    /// Refuses a destination, unless the user is asked about it.
    fn refuse(
        &self,
        protocol: Protocol,
        address: SocketAddrV4,
        reason: Reason<'_>,
        is_asked: bool,
    ) -> Target {
        // An answer would not open what the upstream proxy does not carry.
        let is_carried = || {
            let route = self.ways.routes.asked(address, None);
            protocol == Protocol::Tcp || !route.is_proxied()
        };
        let is_asked = is_asked && is_carried();
        let asked = is_asked.then(|| {
            // A name of the guest's choice can lead to a private network, whose addresses are shown as they are.
            let is_private = matches!(reason, Reason::Range(_));
            let name = self.recorder.name_of(*address.ip());
            let name = name.filter(|name| !is_private && is_of_hosts(name));
            (self.gate.ask_about(address, name.as_deref()), name)
        });
        let reason = match asked {
            Some((Asked::Waits(pending), name)) => {
                return Target::Asked(AskedFlow {
                    protocol,
                    address,
                    name,
                    pending,
                    gate: self.gate.clone(),
                    recorder: self.recorder.clone(),
                    ways: Arc::clone(&self.ways),
                });
            }
            Some((Asked::Denied, _)) => Reason::Asked,
            Some((Asked::Unasked, _)) | None => reason,
        };
        self.recorder.refuse(protocol, address, reason);
        Target::Denied
    }

    /// Sends a frame of the gateway, unless the queue to the guest is full.
    fn reply(&self, frame: Option<Vec<u8>>) {
        if let Some(frame) = frame {
            let _ = self.to_guest.try_send(frame);
        }
    }
}

/// Returns true if a rule can have the name. The guest chooses the names that it asks for.
fn is_of_hosts(name: &str) -> bool {
    DomainName::parse(name).is_some_and(|name| name.is_of_hosts())
}

async fn join_datagrams(datagrams: UdpFlow, host: HostEnd, flow: RecordedFlow) {
    let end = datagrams.join(host, &flow.traffic).await;
    flow.end(end);
}

#[cfg(test)]
mod tests;
