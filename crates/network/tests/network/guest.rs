use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use msb_network::{
    EdgeParts, GATEWAY_ADDRESS, GUEST_ADDRESS, GUEST_MAC, Network, NetworkEvent, NetworkReport,
    Publish, READY, ServeError, Settings,
};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, HardwareAddress, IpAddress,
    IpCidr, IpProtocol, Ipv4Packet, Ipv4Repr, UdpPacket, UdpRepr,
};

/// A timeout that is longer than any step of these tests.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// A network, and the VMM's end of its frame socket.
pub(crate) struct Host {
    served: JoinHandle<Result<(), ServeError>>,
    pub(crate) reports: Reports,
    /// The reader of the reports.
    reading: JoinHandle<()>,
    pub(crate) published: Vec<Publish>,
    pub(crate) link: Link,
}

impl Host {
    pub(crate) fn new(settings: Settings) -> Self {
        Self::with_edge(settings, None)
    }

    /// Starts a network with what its settings need to end TLS.
    pub(crate) fn with_edge(settings: Settings, edge: Option<EdgeParts>) -> Self {
        Self::of(Network::bind(&settings, edge).unwrap())
    }

    /// Starts a network with a supervisor. Returns the supervisor's end of their connection, too.
    pub(crate) fn supervised(settings: Settings) -> (Self, UnixStream) {
        let (supervisor, process) = UnixStream::pair().unwrap();
        supervisor.set_read_timeout(Some(TIMEOUT)).unwrap();
        let network = Network::bind(&settings, None).unwrap();
        (Self::of(network.with_supervisor(process)), supervisor)
    }

    fn of(network: Network) -> Self {
        let (mut guest_end, network_end) = UnixStream::pair().unwrap();
        let published = network.published();
        let (reader, writer) = std::io::pipe().unwrap();
        let writer = File::from(OwnedFd::from(writer));
        let served = thread::spawn(move || network.serve(network_end, writer));
        let reports = Reports::default();
        let taken = reports.clone();
        let reading = thread::spawn(move || {
            for line in BufReader::new(reader).lines() {
                let report = serde_json::from_str(&line.unwrap()).unwrap();
                taken.0.lock().unwrap().push(report);
            }
        });
        let mut said = [0; READY.len()];
        guest_end.set_read_timeout(Some(TIMEOUT)).unwrap();
        guest_end.read_exact(&mut said).unwrap();
        assert_eq!(said, READY);
        guest_end.set_nonblocking(true).unwrap();
        let link = Link {
            socket: guest_end,
            received: Vec::new(),
        };
        Self {
            served,
            reports,
            reading,
            published,
            link,
        }
    }

    /// Closes the frame socket, as a VMM does that ends; the network ends with it. Returns what it reported.
    pub(crate) fn end(self) -> Vec<NetworkReport> {
        drop(self.link);
        self.served.join().unwrap().unwrap();
        self.reading.join().unwrap();
        self.reports.0.lock().unwrap().clone()
    }
}

/// The reports of a network so far. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Reports(Arc<Mutex<Vec<NetworkReport>>>);

impl Reports {
    /// Returns a value once the end of a flow is reported.
    pub(crate) fn of_end(&self) -> Option<()> {
        let is_end = |report: &NetworkReport| match report {
            NetworkReport::Record(record) => matches!(record.event, NetworkEvent::Close(_)),
            NetworkReport::Totals(_) => false,
        };
        self.0.lock().unwrap().iter().any(is_end).then_some(())
    }
}

/// Settings with these `allow` rules and the default policy.
pub(crate) fn allowing(rules: &[String]) -> Settings {
    Settings {
        allow: rules.iter().map(|rule| rule.parse().unwrap()).collect(),
        ..Settings::default()
    }
}

/// The wire as the guest's stack sees it.
pub(crate) struct Link {
    socket: UnixStream,
    received: Vec<u8>,
}

impl Link {
    /// Returns the next frame. `None` if none has arrived.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        let mut buffer = [0; 4096];
        match self.socket.read(&mut buffer) {
            Ok(length) => self.received.extend_from_slice(&buffer[..length]),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        let length = self.received.first_chunk::<4>()?;
        let end = 4 + usize::try_from(u32::from_be_bytes(*length)).unwrap();
        if self.received.len() < end {
            return None;
        }
        let frame = self.received[4..end].to_vec();
        self.received.drain(..end);
        Some(frame)
    }

    /// Waits for the first frame for which `look` returns a value.
    pub(crate) fn await_frame<T>(&mut self, look: impl Fn(&[u8]) -> Option<T>) -> T {
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            match self.take() {
                Some(frame) => {
                    if let Some(found) = look(&frame) {
                        return found;
                    }
                }
                None => thread::sleep(Duration::from_micros(200)),
            }
        }
        panic!("no such frame came");
    }

    pub(crate) fn send(&mut self, frame: &[u8]) {
        let length = u32::try_from(frame.len()).unwrap();
        let mut rest = &[&length.to_be_bytes(), frame].concat()[..];
        while !rest.is_empty() {
            match self.socket.write(rest) {
                Ok(length) => rest = &rest[length..],
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    thread::sleep(Duration::from_micros(200));
                }
            }
        }
    }
}

impl Device for Link {
    type RxToken<'a> = Received;
    type TxToken<'a> = &'a mut Link;

    fn receive(&mut self, _: smoltcp::time::Instant) -> Option<(Received, &mut Link)> {
        Some((Received(self.take()?), self))
    }

    fn transmit(&mut self, _: smoltcp::time::Instant) -> Option<&mut Link> {
        Some(self)
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities
    }
}

pub(crate) struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for &mut Link {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut frame = vec![0; length];
        let result = write(&mut frame);
        self.send(&frame);
        result
    }
}

/// A guest with one TCP socket.
pub(crate) struct Guest<'a> {
    link: &'a mut Link,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    started: Instant,
}

impl<'a> Guest<'a> {
    pub(crate) fn new(link: &'a mut Link) -> Self {
        let started = Instant::now();
        let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress(GUEST_MAC)));
        config.random_seed = 7;
        let mut interface = Interface::new(config, link, smoltcp::time::Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            let own = IpCidr::new(IpAddress::from(GUEST_ADDRESS), 29);
            addresses.push(own).unwrap();
        });
        interface
            .routes_mut()
            .add_default_ipv4_route(GATEWAY_ADDRESS)
            .unwrap();
        let buffer = || tcp::SocketBuffer::new(vec![0; 32 * 1024]);
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(tcp::Socket::new(buffer(), buffer()));
        Self {
            link,
            interface,
            sockets,
            handle,
            started,
        }
    }

    pub(crate) fn connect(&mut self, to: SocketAddrV4) {
        let socket = self.sockets.get_mut::<tcp::Socket<'_>>(self.handle);
        let to = (IpAddress::from(*to.ip()), to.port());
        socket
            .connect(self.interface.context(), to, 40_000)
            .unwrap();
    }

    pub(crate) fn listen(&mut self, port: u16) {
        let socket = self.sockets.get_mut::<tcp::Socket<'_>>(self.handle);
        socket.listen(port).unwrap();
    }

    /// Runs the stack until `look` returns a value.
    pub(crate) fn drive<T>(
        &mut self,
        what: &str,
        mut look: impl FnMut(&mut tcp::Socket<'_>) -> Option<T>,
    ) -> T {
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            let micros = i64::try_from(self.started.elapsed().as_micros()).unwrap();
            let now = smoltcp::time::Instant::from_micros(micros);
            self.interface.poll(now, self.link, &mut self.sockets);
            let socket = self.sockets.get_mut::<tcp::Socket<'_>>(self.handle);
            if let Some(found) = look(socket) {
                // Send the packets that this has caused.
                self.interface.poll(now, self.link, &mut self.sockets);
                return found;
            }
            thread::sleep(Duration::from_micros(50));
        }
        panic!("{what} did not come");
    }
}

/// Returns a frame with an IPv4 packet of the guest.
pub(crate) fn ip_frame(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: IpProtocol,
    payload: &[u8],
) -> Vec<u8> {
    let ip = Ipv4Repr {
        src_addr: source,
        dst_addr: destination,
        next_header: protocol,
        payload_len: payload.len(),
        hop_limit: 64,
    };
    let mut frame = vec![0; 14 + ip.buffer_len() + payload.len()];
    let ethernet = EthernetRepr {
        src_addr: EthernetAddress(GUEST_MAC),
        dst_addr: EthernetAddress::BROADCAST,
        ethertype: EthernetProtocol::Ipv4,
    };
    ethernet.emit(&mut EthernetFrame::new_unchecked(&mut frame));
    let mut packet = Ipv4Packet::new_unchecked(&mut frame[14..]);
    ip.emit(&mut packet, &ChecksumCapabilities::default());
    packet.payload_mut().copy_from_slice(payload);
    frame
}

/// Returns a frame with a datagram of the guest.
pub(crate) fn datagram(port: u16, to: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    let udp = UdpRepr {
        src_port: port,
        dst_port: to.port(),
    };
    let mut bytes = vec![0; 8 + payload.len()];
    udp.emit(
        &mut UdpPacket::new_unchecked(&mut bytes),
        &IpAddress::from(GUEST_ADDRESS),
        &IpAddress::from(*to.ip()),
        payload.len(),
        |bytes| bytes.copy_from_slice(payload),
        &ChecksumCapabilities::default(),
    );
    ip_frame(GUEST_ADDRESS, *to.ip(), IpProtocol::Udp, &bytes)
}

/// Returns the payload of a datagram from `from` to a port of the guest.
pub(crate) fn read_datagram(frame: &[u8], from: SocketAddrV4, port: u16) -> Option<Vec<u8>> {
    let ip = Ipv4Packet::new_checked(frame.get(14..)?).ok()?;
    assert!(ip.verify_checksum());
    if ip.next_header() != IpProtocol::Udp || ip.src_addr() != *from.ip() {
        return None;
    }
    let udp = UdpPacket::new_checked(ip.payload()).ok()?;
    let is_it = udp.src_port() == from.port() && udp.dst_port() == port;
    is_it.then(|| udp.payload().to_vec())
}

/// Returns the type and code of an ICMP message.
pub(crate) fn read_control(frame: &[u8]) -> Option<(u8, u8)> {
    let ip = Ipv4Packet::new_checked(frame.get(14..)?).ok()?;
    let payload = ip.payload();
    (ip.next_header() == IpProtocol::Icmp).then(|| (payload[0], payload[1]))
}
