//! The switch that passes every frame of the guest to its flow.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::ops::Range;
use std::sync::Arc;

use smoltcp::wire::Icmpv4DstUnreachable;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;

use crate::budget::Budget;
use crate::buffers::Buffers;
use crate::flows::{Flows, Origin};
use crate::limits::{
    CONNECT_TIMEOUT, FLOW_QUEUES_BYTES, TCP_BUFFER_MIN_BYTES, TCP_BUFFERS_BYTES, TCP_FLOWS_MAX,
    UDP_FLOWS_MAX,
};
use crate::link::{DNS_PORT, GATEWAY_ADDRESS};
use crate::log_record::FlowEnd;
use crate::names::{NameService, Transport};
use crate::packet::{FlowKey, Kind, Packet};
use crate::policy::Policy;
use crate::published::{Arrival, ArrivedBy};
use crate::queue::{Receiver, Waiting};
use crate::recorded_flow::{RecordedFlow, Traffic};
use crate::recorder::Recorder;
use crate::replies;
use crate::tcp::{TcpFlow, prepare};
use crate::udp::{HostEnd, UdpFlow, why_unreachable};
use crate::wire::Wire;
use crate::{Protocol, Verdict};

/// The gateway's switch: it takes frames from the guest and passes them to flows.
pub(crate) struct Switch {
    policy: Arc<Policy>,
    names: Arc<NameService>,
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
    /// An address, and the rule that allows it.
    Host(SocketAddrV4, String),
    Names,
    Denied,
}

impl Switch {
    pub(crate) fn new(
        policy: Arc<Policy>,
        names: Arc<NameService>,
        to_guest: mpsc::Sender<Vec<u8>>,
        recorder: Recorder,
    ) -> Self {
        let queued = Budget::new(FLOW_QUEUES_BYTES);
        Self {
            policy,
            names,
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
            Target::Host(address, rule) => {
                if let Some(opening) = self.open_stream(key, segment) {
                    let flow = self.record(Protocol::Tcp, address, rule);
                    tokio::spawn(opening.connect(address, flow, self.buffers.clone()));
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
        let Target::Host(address, rule) = self.target(Protocol::Udp, key.remote) else {
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
        let address = match *remote.ip() {
            GATEWAY_ADDRESS if remote.port() == DNS_PORT => return Target::Names,
            GATEWAY_ADDRESS => Ipv4Addr::LOCALHOST,
            address => address,
        };
        let address = SocketAddrV4::new(address, remote.port());
        let decision = self.policy.decide(address);
        match decision.verdict {
            Verdict::Allowed => Target::Host(address, decision.reason.to_string()),
            Verdict::Denied => {
                self.recorder.refuse(protocol, address, decision.reason);
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

/// A connection of the guest that is not established yet.
struct Opening {
    key: FlowKey,
    syn: Waiting,
    wire: Wire,
    packets: Receiver,
}

impl Opening {
    /// Connects to a host, then establishes the guest's connection. Until then only the guest's
    /// first segment is kept.
    async fn connect(self, address: SocketAddrV4, flow: RecordedFlow, buffers: Budget) {
        let connected = match timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            Ok(connected) => connected.and_then(|stream| prepare(&stream).map(|()| stream)),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        };
        let error = match connected {
            Ok(stream) => {
                let end = match self.accept(Buffers::new(&buffers)) {
                    Some(tcp) => tcp.join(stream, &flow.traffic).await,
                    None => FlowEnd::PeerReset,
                };
                flow.end(end);
                return;
            }
            Err(error) => error,
        };
        flow.end(match error.kind() {
            io::ErrorKind::ConnectionRefused => FlowEnd::Refused,
            io::ErrorKind::TimedOut => FlowEnd::Timeout,
            _ => FlowEnd::Unreachable,
        });
        let syn = self.syn.packet();
        let frame = match error.kind() {
            io::ErrorKind::ConnectionRefused => replies::reset(syn),
            _ => replies::unreachable(syn, why_unreachable(&error)),
        };
        send(&self.wire.to_guest, frame).await;
    }

    fn accept(mut self, buffers: Buffers) -> Option<TcpFlow> {
        self.wire.from_guest.push_back(self.syn);
        TcpFlow::accept(self.key, self.wire, self.packets, buffers)
    }
}

async fn serve_names(opening: Opening, names: Arc<NameService>, _place: OwnedSemaphorePermit) {
    let (guest_side, service_side) = tokio::io::duplex(TCP_BUFFER_MIN_BYTES);
    let Some(flow) = opening.accept(Buffers::new(&Budget::new(0))) else {
        return;
    };
    // Both futures end with the connection. The queries have records of their own.
    let traffic = Traffic::default();
    let joined = flow.join(guest_side, &traffic);
    let _ = tokio::join!(joined, names.serve_stream(service_side));
}

async fn join_datagrams(datagrams: UdpFlow, host: HostEnd, flow: RecordedFlow) {
    let end = datagrams.join(host, &flow.traffic).await;
    flow.end(end);
}

/// Sends a frame once there is room for it. A guest that has gone does not need it.
async fn send(to_guest: &mpsc::Sender<Vec<u8>>, frame: Option<Vec<u8>>) {
    if let Some(frame) = frame {
        let _ = to_guest.send(frame).await;
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, Instant};

    use hickory_proto::op::{Message, Query};
    use hickory_proto::rr::{Name, RecordType};
    use tokio::runtime::Handle;
    use tokio::time::sleep;

    use super::*;
    use crate::Settings;
    use crate::resolvers::Resolvers;

    fn question() -> Vec<u8> {
        let mut question = Message::query();
        let name = Name::from_ascii("example.com.").unwrap();
        question.add_query(Query::query(name, RecordType::AAAA));
        question.to_vec().unwrap()
    }

    #[tokio::test]
    async fn answers_that_nobody_reads_do_not_gather() {
        let policy = Arc::new(Policy::new(&Settings::default()));
        let recorder = Recorder::new(File::options().write(true).open("/dev/null").unwrap());
        let resolvers = Resolvers::new(Vec::new());
        let names = NameService::new(Arc::clone(&policy), resolvers, recorder.clone());
        let (to_guest, mut frames) = mpsc::channel(1);
        let mut switch = Switch::new(policy, Arc::new(names), to_guest, recorder);
        let key = FlowKey {
            guest_port: 5300,
            remote: SocketAddrV4::new(GATEWAY_ADDRESS, DNS_PORT),
        };
        let bytes = question();
        for _ in 0..5000 {
            switch.take_datagram(key, &bytes, 0..bytes.len());
        }
        let left = || Handle::current().metrics().num_alive_tasks();
        let deadline = Instant::now() + Duration::from_secs(60);
        while left() > 0 {
            assert!(Instant::now() < deadline, "{} tasks wait", left());
            sleep(Duration::from_millis(10)).await;
        }
        assert!(frames.recv().await.is_some() && frames.is_empty());
    }
}
