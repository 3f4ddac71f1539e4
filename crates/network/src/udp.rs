//! Datagrams between one port of the guest and one remote address.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::pin::pin;
use std::sync::Arc;

use smoltcp::wire::Icmpv4DstUnreachable;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::datagram_socket::connected_socket;
use crate::limits::{UDP_QUESTION_TIMEOUT, UDP_STREAM_TIMEOUT};
use crate::log_record::FlowEnd;
use crate::packet::FlowKey;
use crate::queue::{Receiver, Waiting};
use crate::recorded_flow::Traffic;
use crate::replies::{DATAGRAM_MAX_BYTES, datagram, unreachable};

/// The host's end of a flow.
#[derive(Debug)]
pub(crate) enum HostEnd {
    /// A socket for this flow alone.
    Connected(UdpSocket),
    /// The socket of a published port, shared by several flows, and the peer of this one.
    Shared {
        socket: Arc<UdpSocket>,
        peer: SocketAddr,
        datagrams: Receiver,
    },
}

impl HostEnd {
    /// Opens a socket that exchanges datagrams with `target` alone.
    pub(crate) fn connect(target: SocketAddrV4) -> io::Result<Self> {
        let socket = connected_socket(target.into())?;
        Ok(Self::Connected(UdpSocket::from_std(socket)?))
    }

    async fn send(&self, payload: &[u8]) -> io::Result<()> {
        match self {
            Self::Connected(socket) => socket.send(payload).await.map(drop),
            Self::Shared { socket, peer, .. } => socket.send_to(payload, *peer).await.map(drop),
        }
    }

    async fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Connected(socket) => socket.recv(buffer).await,
            Self::Shared { datagrams, .. } => match datagrams.recv().await {
                Some(datagram) => {
                    let payload = datagram.payload();
                    let length = payload.len().min(buffer.len());
                    buffer[..length].copy_from_slice(&payload[..length]);
                    Ok(length)
                }
                None => Err(io::ErrorKind::UnexpectedEof.into()),
            },
        }
    }
}

/// One flow of datagrams.
pub(crate) struct UdpFlow {
    pub(crate) key: FlowKey,
    pub(crate) packets: Receiver,
    pub(crate) to_guest: mpsc::Sender<Vec<u8>>,
}

impl UdpFlow {
    /// Passes datagrams on until the flow has been idle for too long. Counts the bytes, and returns the end.
    pub(crate) async fn join(mut self, mut host: HostEnd, traffic: &Traffic) -> FlowEnd {
        self.packets.open();
        // One byte more than the largest payload, so that a larger one can be recognised.
        let mut buffer = vec![0; DATAGRAM_MAX_BYTES + 1];
        // The guest's last packet, to be quoted if it did not arrive.
        let mut last = Vec::new();
        let mut sent: u32 = 0;
        let mut revoked = pin!(traffic.revoked());
        loop {
            let limit = match sent {
                0 | 1 => UDP_QUESTION_TIMEOUT,
                _ => UDP_STREAM_TIMEOUT,
            };
            let next = async {
                tokio::select! {
                    packet = self.packets.recv() => Event::Packet(packet),
                    received = host.receive(&mut buffer) => Event::Received(received),
                    () = revoked.as_mut() => Event::Revoked,
                }
            };
            match timeout(limit, next).await {
                Ok(Event::Packet(Some(packet))) => {
                    sent = sent.saturating_add(1);
                    match host.send(packet.payload()).await {
                        Ok(()) => traffic.add_sent(packet.payload().len()),
                        Err(error) => self.report(packet.packet(), &error).await,
                    }
                    last.clear();
                    last.extend_from_slice(packet.packet());
                }
                Ok(Event::Received(Ok(length))) => {
                    let frame = datagram(self.key.remote, self.key.guest_port, &buffer[..length]);
                    let Some(frame) = frame else { continue };
                    if self.to_guest.send(frame).await.is_err() {
                        return FlowEnd::Machine;
                    }
                    traffic.add_received(length);
                }
                Ok(Event::Received(Err(error)))
                    if error.kind() == io::ErrorKind::ConnectionRefused =>
                {
                    self.report(&last, &error).await;
                }
                Ok(Event::Received(Err(_))) => return FlowEnd::PeerReset,
                Ok(Event::Revoked) => return FlowEnd::Revoked,
                Ok(Event::Packet(None)) => return FlowEnd::Machine,
                Err(_) => return FlowEnd::Idle,
            }
        }
    }

    /// Reports to the guest that its packet did not arrive.
    async fn report(&self, packet: &[u8], error: &io::Error) {
        let reason = why_unreachable(error);
        if let Some(frame) = unreachable(packet, reason) {
            // A guest that has gone does not need the report.
            let _ = self.to_guest.send(frame).await;
        }
    }
}

enum Event {
    Packet(Option<Waiting>),
    Received(io::Result<usize>),
    Revoked,
}

/// Returns the ICMP code for a destination that the host cannot connect to.
pub(crate) fn why_unreachable(error: &io::Error) -> Icmpv4DstUnreachable {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Icmpv4DstUnreachable::PortUnreachable,
        io::ErrorKind::NetworkUnreachable => Icmpv4DstUnreachable::NetUnreachable,
        io::ErrorKind::PermissionDenied => Icmpv4DstUnreachable::CommProhibited,
        _ => Icmpv4DstUnreachable::HostUnreachable,
    }
}
