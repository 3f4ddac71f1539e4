use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, Icmpv4Packet, Icmpv4Repr,
    IpAddress, IpProtocol, Ipv4Packet, Ipv4Repr, TcpControl, TcpPacket, TcpRepr, TcpSeqNumber,
    UdpPacket, UdpRepr,
};

use super::hosts::Source;

pub(crate) const GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 1);
const OWN: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 2);
const TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_micros(200);
/// The sequence number at which the guest's connections begin.
const FIRST: i32 = 1000;
/// The receive window that the guest announces, in bytes.
const WINDOW: u16 = 65_535;

/// A guest that writes its own frames, and breaks the rules of TCP if it likes.
pub(crate) struct Guest {
    socket: UnixStream,
    received: Vec<u8>,
    /// True if the guest reads frames.
    pub(crate) reads: bool,
    /// The established connections by both ports, with the number that follows the peer's first.
    pub(crate) established: BTreeMap<(u16, SocketAddrV4), TcpSeqNumber>,
    pub(crate) frames_sent: u64,
    pings_answered: u64,
    /// The servers that the guest's connections lead to.
    sources: Vec<Source>,
}

impl Guest {
    pub(super) fn new(socket: UnixStream) -> Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            received: Vec::new(),
            reads: true,
            established: BTreeMap::new(),
            frames_sent: 0,
            pings_answered: 0,
            sources: Vec::new(),
        })
    }

    /// Starts a server on the host, which serves as long as the guest exists, and returns its
    /// address as the guest sees it.
    pub(super) fn source(&mut self) -> Result<SocketAddrV4> {
        let source = Source::serve()?;
        let at = source.at();
        self.sources.push(source);
        Ok(at)
    }

    /// Writes a frame of any length to the socket.
    pub(crate) fn send(&mut self, frame: &[u8]) -> Result<()> {
        let length = u32::try_from(frame.len())?;
        let bytes = [&length.to_be_bytes(), frame].concat();
        let mut rest = &bytes[..];
        let deadline = Instant::now() + TIMEOUT;
        while !rest.is_empty() {
            match self.socket.write(rest) {
                Ok(length) => rest = &rest[length..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    ensure!(Instant::now() < deadline, "the network takes no frames");
                    self.take()?;
                    sleep(PAUSE);
                }
                Err(error) => bail!("the network has gone: {error}"),
            }
        }
        self.frames_sent += 1;
        Ok(())
    }

    /// Reads the frames that have come, and answers those that open connections.
    pub(crate) fn take(&mut self) -> Result<()> {
        let mut buffer = [0; 64 * 1024];
        while self.reads {
            match self.socket.read(&mut buffer) {
                Ok(0) => bail!("the network has gone"),
                Ok(length) => self.received.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
            self.look()?;
        }
        Ok(())
    }

    fn look(&mut self) -> Result<()> {
        let mut start = 0;
        let mut answers = Vec::new();
        while let Some(length) = self.received[start..].first_chunk::<4>() {
            let end = start + 4 + usize::try_from(u32::from_be_bytes(*length))?;
            if end > self.received.len() {
                break;
            }
            let frame = self.received[start + 4..end].to_vec();
            answers.extend(self.answer(&frame));
            start = end;
        }
        self.received.drain(..start);
        for frame in answers {
            self.send(&frame)?;
        }
        Ok(())
    }

    fn answer(&mut self, frame: &[u8]) -> Option<Vec<u8>> {
        let ip = Ipv4Packet::new_checked(frame.get(14..)?).ok()?;
        if ip.next_header() == IpProtocol::Icmp {
            self.pings_answered += u64::from(ip.payload().first() == Some(&0));
            return None;
        }
        let tcp = TcpPacket::new_checked(ip.payload()).ok()?;
        if !tcp.syn() {
            return None;
        }
        let port = tcp.dst_port();
        let peer = SocketAddrV4::new(ip.src_addr(), tcp.src_port());
        let next = tcp.seq_number() + 1;
        self.established.insert((port, peer), next);
        // A connection that a peer opens is accepted.
        let control = if tcp.ack() {
            TcpControl::None
        } else {
            TcpControl::Syn
        };
        let first = FIRST + i32::from(tcp.ack());
        Some(segment(
            port,
            peer,
            control,
            (TcpSeqNumber(first), Some(next)),
            b"",
        ))
    }

    /// Opens connections from each of these ports to `to`, and waits until they are established.
    pub(crate) fn connect(&mut self, ports: std::ops::Range<u16>, to: SocketAddrV4) -> Result<()> {
        let wanted: Vec<_> = ports.map(|port| (port, to)).collect();
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let missing = wanted
                .iter()
                .filter(|key| !self.established.contains_key(key));
            let missing: Vec<_> = missing.copied().collect();
            if missing.is_empty() {
                return Ok(());
            }
            let count = missing.len();
            ensure!(
                Instant::now() < deadline,
                "{count} connections did not come"
            );
            for (port, to) in missing {
                self.send(&syn(port, to))?;
            }
            self.take_for(Duration::from_millis(200))?;
        }
    }

    /// Reads frames for `time`.
    pub(crate) fn take_for(&mut self, time: Duration) -> Result<()> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.take()?;
            sleep(PAUSE);
        }
        Ok(())
    }

    /// Waits until the gateway answers a ping: the network runs, and has read everything sent.
    pub(crate) fn await_ping(&mut self) -> Result<()> {
        self.reads = true;
        let before = self.pings_answered;
        let deadline = Instant::now() + TIMEOUT;
        while self.pings_answered == before {
            ensure!(Instant::now() < deadline, "the gateway answers no ping");
            self.send(&ping())?;
            self.take_for(Duration::from_millis(20))?;
        }
        Ok(())
    }

    /// Sends a segment of an established connection, `offset` bytes behind its first byte.
    pub(crate) fn push(
        &mut self,
        port: u16,
        to: SocketAddrV4,
        offset: usize,
        data: &[u8],
    ) -> Result<()> {
        let next = self.established.get(&(port, to)).copied();
        let number = TcpSeqNumber(FIRST + 1) + offset;
        self.send(&segment(port, to, TcpControl::None, (number, next), data))
    }
}

pub(crate) fn syn(port: u16, to: SocketAddrV4) -> Vec<u8> {
    segment(port, to, TcpControl::Syn, (TcpSeqNumber(FIRST), None), b"")
}

fn segment(
    port: u16,
    to: SocketAddrV4,
    control: TcpControl,
    (seq_number, ack_number): (TcpSeqNumber, Option<TcpSeqNumber>),
    payload: &[u8],
) -> Vec<u8> {
    let tcp = TcpRepr {
        src_port: port,
        dst_port: to.port(),
        control,
        seq_number,
        ack_number,
        window_len: WINDOW,
        window_scale: None,
        max_seg_size: (control == TcpControl::Syn).then_some(1460),
        sack_permitted: false,
        sack_ranges: [None; 3],
        timestamp: None,
        payload,
    };
    let mut bytes = vec![0; tcp.buffer_len()];
    tcp.emit(
        &mut TcpPacket::new_unchecked(&mut bytes[..]),
        &IpAddress::from(OWN),
        &IpAddress::from(*to.ip()),
        &ChecksumCapabilities::default(),
    );
    packet(*to.ip(), IpProtocol::Tcp, &bytes)
}

pub(crate) fn datagram(port: u16, to: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    let udp = UdpRepr {
        src_port: port,
        dst_port: to.port(),
    };
    let mut bytes = vec![0; 8 + payload.len()];
    udp.emit(
        &mut UdpPacket::new_unchecked(&mut bytes),
        &IpAddress::from(OWN),
        &IpAddress::from(*to.ip()),
        payload.len(),
        |bytes| bytes.copy_from_slice(payload),
        &ChecksumCapabilities::default(),
    );
    packet(*to.ip(), IpProtocol::Udp, &bytes)
}

fn ping() -> Vec<u8> {
    let icmp = Icmpv4Repr::EchoRequest {
        ident: 1,
        seq_no: 1,
        data: b"ping",
    };
    let mut bytes = vec![0; icmp.buffer_len()];
    icmp.emit(
        &mut Icmpv4Packet::new_unchecked(&mut bytes[..]),
        &ChecksumCapabilities::default(),
    );
    packet(GATEWAY, IpProtocol::Icmp, &bytes)
}

/// Returns a frame with an IPv4 packet of the guest.
pub(crate) fn packet(to: Ipv4Addr, protocol: IpProtocol, payload: &[u8]) -> Vec<u8> {
    let ip = Ipv4Repr {
        src_addr: OWN,
        dst_addr: to,
        next_header: protocol,
        payload_len: payload.len(),
        hop_limit: 64,
    };
    let mut frame = vec![0; 14 + ip.buffer_len() + payload.len()];
    EthernetRepr {
        src_addr: EthernetAddress([2, 0, 0, 0, 0, 2]),
        dst_addr: EthernetAddress::BROADCAST,
        ethertype: EthernetProtocol::Ipv4,
    }
    .emit(&mut EthernetFrame::new_unchecked(&mut frame));
    let mut packet = Ipv4Packet::new_unchecked(&mut frame[14..]);
    ip.emit(&mut packet, &ChecksumCapabilities::default());
    packet.payload_mut().copy_from_slice(payload);
    frame
}
