//! Where every frame of the guest's goes.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use bytes::Bytes;
use smoltcp::wire::Icmpv4DstUnreachable;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::flows::Flows;
use crate::limits::{CONNECT_LIMIT, TCP_BUFFER_BYTES, TCP_FLOWS_MAX, UDP_FLOWS_MAX};
use crate::link::{DNS_PORT, GATEWAY_ADDRESS};
use crate::names::{NameService, Transport};
use crate::packet::{FlowKey, Kind, Packet};
use crate::policy::Policy;
use crate::published::Arrival;
use crate::replies;
use crate::tcp::{TcpFlow, prepare};
use crate::udp::{HostEnd, UdpFlow, why_unreachable};
use crate::wire::Wire;

/// The gateway: it takes frames and gives them to flows.
pub(crate) struct Switch {
    policy: Arc<Policy>,
    names: Arc<NameService>,
    to_guest: mpsc::Sender<Vec<u8>>,
    tcp: Flows<Bytes>,
    udp: Flows<Packet>,
}

/// Whom a flow of the guest's is for.
enum Target {
    Host(SocketAddrV4),
    Names,
    Denied,
}

impl Switch {
    pub(crate) fn new(
        policy: Arc<Policy>,
        names: Arc<NameService>,
        to_guest: mpsc::Sender<Vec<u8>>,
    ) -> Self {
        Self {
            policy,
            names,
            to_guest,
            tcp: Flows::new(TCP_FLOWS_MAX),
            udp: Flows::new(UDP_FLOWS_MAX),
        }
    }

    /// Takes a frame from the guest. What is no packet for anybody is dropped.
    pub(crate) fn take(&mut self, frame: &Bytes) {
        let Some(packet) = Packet::parse(frame) else {
            self.reply(replies::address_resolution(frame));
            return;
        };
        match packet.kind {
            Kind::Tcp { key, opens } => self.take_segment(key, packet.bytes, opens),
            Kind::Udp { key, .. } => self.take_datagram(key, packet),
            Kind::Icmp { destination } if destination == GATEWAY_ADDRESS => {
                self.reply(replies::echo(&packet.bytes));
            }
            // Other hosts cannot be pinged; errors of the guest's are for nobody.
            Kind::Icmp { .. } => {}
        }
    }

    fn take_segment(&mut self, key: FlowKey, segment: Bytes, opens: bool) {
        let Some(segment) = self.tcp.deliver(&key, segment) else {
            return;
        };
        if !opens {
            self.reply(replies::reset(&segment));
            return;
        }
        let target = self.target(key.remote);
        if matches!(target, Target::Denied) {
            self.reply(replies::unreachable(&segment, DENIED));
            return;
        }
        // Without a place the segment is dropped, and comes again.
        let Some(packets) = self.tcp.open(key) else {
            return;
        };
        let (wire, names) = (Wire::new(self.to_guest.clone()), Arc::clone(&self.names));
        tokio::spawn(async move {
            match target {
                Target::Names => serve_names(key, segment, wire, packets, names).await,
                Target::Host(address) => connect(key, address, segment, wire, packets).await,
                Target::Denied => {}
            }
        });
    }

    fn take_datagram(&mut self, key: FlowKey, packet: Packet) {
        if key.remote == SocketAddrV4::new(GATEWAY_ADDRESS, DNS_PORT) {
            tokio::spawn(answer(
                key,
                packet,
                Arc::clone(&self.names),
                self.to_guest.clone(),
            ));
            return;
        }
        let Some(packet) = self.udp.deliver(&key, packet) else {
            return;
        };
        let Target::Host(address) = self.target(key.remote) else {
            self.reply(replies::unreachable(&packet.bytes, DENIED));
            return;
        };
        let Some(packets) = self.udp.open(key) else {
            return;
        };
        let refused = packet.bytes.clone();
        self.udp.deliver(&key, packet);
        let flow = self.udp_flow(key, packets);
        tokio::spawn(async move {
            match HostEnd::connect(address).await {
                Ok(host) => flow.join(host).await,
                Err(error) => {
                    let frame = replies::unreachable(&refused, why_unreachable(&error));
                    send(&flow.to_guest, frame).await;
                }
            }
        });
    }

    fn udp_flow(&self, key: FlowKey, packets: mpsc::Receiver<Packet>) -> UdpFlow {
        UdpFlow {
            key,
            packets,
            to_guest: self.to_guest.clone(),
        }
    }

    /// Takes somebody from outside to the guest.
    pub(crate) fn admit(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Stream { stream, guest_port } => self.admit_stream(stream, guest_port),
            Arrival::Datagrams { host, guest_port } => {
                let key = self.udp.key_from_outside(guest_port);
                if let Some((key, packets)) = key.and_then(|key| Some((key, self.udp.open(key)?))) {
                    tokio::spawn(self.udp_flow(key, packets).join(host));
                }
            }
        }
    }

    fn admit_stream(&mut self, stream: TcpStream, guest_port: u16) {
        let key = self.tcp.key_from_outside(guest_port);
        let Some((key, packets)) = key.and_then(|key| Some((key, self.tcp.open(key)?))) else {
            return;
        };
        let wire = Wire::new(self.to_guest.clone());
        tokio::spawn(async move {
            if prepare(&stream).is_ok()
                && let Some(flow) = TcpFlow::connect(key, wire, packets)
            {
                flow.join(stream).await;
            }
        });
    }

    /// Where what the guest sends to `remote` goes: the gateway stands for the host's loopback.
    fn target(&self, remote: SocketAddrV4) -> Target {
        let address = match *remote.ip() {
            GATEWAY_ADDRESS if remote.port() == DNS_PORT => return Target::Names,
            GATEWAY_ADDRESS => Ipv4Addr::LOCALHOST,
            address => address,
        };
        let address = SocketAddrV4::new(address, remote.port());
        match self.policy.allows(address) {
            true => Target::Host(address),
            false => Target::Denied,
        }
    }

    /// Sends a frame of the gateway's own, unless too many wait for the guest.
    fn reply(&self, frame: Option<Vec<u8>>) {
        if let Some(frame) = frame {
            let _ = self.to_guest.try_send(frame);
        }
    }
}

/// What the guest is told about a destination that its rules deny. A connection fails at once, and
/// with another error than one that is refused there.
const DENIED: Icmpv4DstUnreachable = Icmpv4DstUnreachable::CommProhibited;

/// Connects to a host, then lets the guest's connection be established.
async fn connect(
    key: FlowKey,
    address: SocketAddrV4,
    syn: Bytes,
    wire: Wire,
    packets: mpsc::Receiver<Bytes>,
) {
    let connected = match timeout(CONNECT_LIMIT, TcpStream::connect(address)).await {
        Ok(connected) => connected.and_then(|stream| prepare(&stream).map(|()| stream)),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    };
    match connected {
        Ok(stream) => {
            if let Some(flow) = TcpFlow::accept(key, syn, wire, packets) {
                flow.join(stream).await;
            }
        }
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            send(&wire.to_guest, replies::reset(&syn)).await;
        }
        Err(error) => {
            let frame = replies::unreachable(&syn, why_unreachable(&error));
            send(&wire.to_guest, frame).await;
        }
    }
}

async fn serve_names(
    key: FlowKey,
    syn: Bytes,
    wire: Wire,
    packets: mpsc::Receiver<Bytes>,
    names: Arc<NameService>,
) {
    let (guest_side, service_side) = tokio::io::duplex(TCP_BUFFER_BYTES);
    let Some(flow) = TcpFlow::accept(key, syn, wire, packets) else {
        return;
    };
    // Both end with the connection.
    let _ = tokio::join!(flow.join(guest_side), names.serve_stream(service_side));
}

async fn answer(
    key: FlowKey,
    packet: Packet,
    names: Arc<NameService>,
    to_guest: mpsc::Sender<Vec<u8>>,
) {
    let Kind::Udp { payload, .. } = &packet.kind else {
        return;
    };
    let question = &packet.bytes[payload.clone()];
    let answer = names.answer(question, Transport::Datagram).await;
    let frame = answer.and_then(|answer| replies::datagram(key.remote, key.guest_port, &answer));
    if let Some(frame) = frame {
        // Whoever does not read loses answers: nothing counts those that would wait.
        let _ = to_guest.try_send(frame);
    }
}

/// Sends a frame once there is room for it; a guest that has gone needs none.
async fn send(to_guest: &mpsc::Sender<Vec<u8>>, frame: Option<Vec<u8>>) {
    if let Some(frame) = frame {
        let _ = to_guest.send(frame).await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
        let names = NameService::new(Arc::clone(&policy), Resolvers::new(Vec::new()));
        let (to_guest, mut frames) = mpsc::channel(1);
        let mut switch = Switch::new(policy, Arc::new(names), to_guest);
        let key = FlowKey {
            guest_port: 5300,
            remote: SocketAddrV4::new(GATEWAY_ADDRESS, DNS_PORT),
        };
        let bytes = Bytes::from(question());
        for _ in 0..5000 {
            let kind = Kind::Udp {
                key,
                payload: 0..bytes.len(),
            };
            let bytes = bytes.clone();
            switch.take_datagram(key, Packet { bytes, kind });
        }
        sleep(Duration::from_millis(200)).await;
        assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
        assert!(frames.recv().await.is_some() && frames.is_empty());
    }
}
