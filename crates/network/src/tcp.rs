//! One TCP connection of the guest's, and the stream on the host that it is joined to.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use rustix::net::sockopt::{set_socket_keepalive, set_socket_linger};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::limits::{TCP_BUFFER_BYTES, TCP_IDLE_LIMIT, TCP_LINGER, TCP_PASSING_LIMIT};
use crate::link::GUEST_ADDRESS;
use crate::packet::FlowKey;
use crate::wire::Wire;

/// How much is read from the host at once.
const READ_BYTES: usize = 16 * 1024;

/// No timer is finer.
const TICK: Duration = Duration::from_millis(1);

/// A stream on the host.
pub(crate) trait HostStream: AsyncRead + AsyncWrite + Unpin + Send {
    /// Lets the end of the stream be seen as a reset, not as an orderly end.
    fn reset_at_end(&self);
}

impl HostStream for TcpStream {
    fn reset_at_end(&self) {
        // Without it the peer sees an end where there was a failure; nothing else depends on it.
        let _ = set_socket_linger(self, Some(Duration::ZERO));
    }
}

impl HostStream for DuplexStream {
    fn reset_at_end(&self) {}
}

/// Sets up a stream of the host for a connection of the guest's.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    // The guest's own segments say what is to be sent at once.
    stream.set_nodelay(true)?;
    // A peer that is gone without a word does not keep its place for ever.
    Ok(set_socket_keepalive(stream, true)?)
}

/// A connection of the guest's with a TCP stack of its own: what goes wrong in one stays in it.
pub(crate) struct TcpFlow {
    wire: Wire,
    packets: mpsc::Receiver<Bytes>,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    started: Instant,
    /// When it was last heard of.
    active: Instant,
}

/// Which of the two directions have ended.
#[derive(Default)]
struct Ends {
    guest: bool,
    host: bool,
}

/// What happened next.
enum Event {
    Packets,
    Place,
    Read(io::Result<usize>),
    Written(io::Result<usize>),
    Time,
    Gone,
}

impl TcpFlow {
    fn new(key: FlowKey, wire: Wire, packets: mpsc::Receiver<Bytes>) -> Self {
        let mut wire = wire;
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = random_seed();
        let started = Instant::now();
        let mut interface =
            Interface::new(config, &mut wire, smoltcp::time::Instant::from_micros(0));
        interface.update_ip_addrs(|addresses| {
            let own = IpCidr::new(IpAddress::from(*key.remote.ip()), 32);
            addresses.push(own).expect("an empty list has room");
        });
        let buffer = || SocketBuffer::new(vec![0; TCP_BUFFER_BYTES]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_nagle_enabled(false);
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let handle = sockets.add(socket);
        Self {
            wire,
            packets,
            interface,
            sockets,
            handle,
            started,
            active: started,
        }
    }

    /// The flow that the guest opens with the segment `syn`; `None` where that opens none.
    pub(crate) fn accept(
        key: FlowKey,
        syn: Bytes,
        wire: Wire,
        packets: mpsc::Receiver<Bytes>,
    ) -> Option<Self> {
        let mut flow = Self::new(key, wire, packets);
        // What the guest repeated meanwhile says nothing new.
        while flow.packets.try_recv().is_ok() {}
        let endpoint = (IpAddress::from(*key.remote.ip()), key.remote.port());
        flow.socket().listen(endpoint).ok()?;
        flow.wire.from_guest.push_back(syn);
        Some(flow)
    }

    /// The flow that somebody outside opens to a port of the guest.
    pub(crate) fn connect(
        key: FlowKey,
        wire: Wire,
        packets: mpsc::Receiver<Bytes>,
    ) -> Option<Self> {
        let mut flow = Self::new(key, wire, packets);
        let guest = (IpAddress::from(GUEST_ADDRESS), key.guest_port);
        let own = (IpAddress::from(*key.remote.ip()), key.remote.port());
        let socket = flow.sockets.get_mut::<Socket<'_>>(flow.handle);
        socket.connect(flow.interface.context(), guest, own).ok()?;
        Some(flow)
    }

    /// Joins both ends until both have ended, or one has failed.
    pub(crate) async fn join(mut self, stream: impl HostStream) {
        let (mut reader, mut writer) = tokio::io::split(stream);
        let mut buffer = vec![0; READ_BYTES];
        let mut ends = Ends::default();
        loop {
            self.poll();
            if self.is_over() {
                break;
            }
            if !ends.guest && self.guest_has_ended() {
                ends.guest = true;
                if writer.shutdown().await.is_err() {
                    self.socket().abort();
                    continue;
                }
            }
            match self
                .next(&mut reader, &mut writer, &mut buffer, &ends)
                .await
            {
                Event::Packets | Event::Place => {}
                Event::Read(Ok(0)) => {
                    ends.host = true;
                    self.socket().close();
                }
                Event::Read(Ok(length)) => {
                    self.active = Instant::now();
                    // No more was read than there is room for.
                    let _ = self.socket().send_slice(&buffer[..length]);
                }
                Event::Written(Ok(length)) => {
                    self.active = Instant::now();
                    let _ = self.socket().recv(|bytes| (length.min(bytes.len()), ()));
                }
                Event::Read(Err(_)) | Event::Written(Err(_)) => self.socket().abort(),
                Event::Time if self.is_idle() => self.socket().abort(),
                Event::Time => {}
                Event::Gone => break,
            }
        }
        if !(ends.guest && ends.host) {
            reader.unsplit(writer).reset_at_end();
        }
    }

    /// Waits until there is something to do.
    async fn next(
        &mut self,
        reader: &mut (impl AsyncRead + Unpin),
        writer: &mut (impl AsyncWrite + Unpin),
        buffer: &mut [u8],
        ends: &Ends,
    ) -> Event {
        let deadline = self.deadline();
        let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
        let room = match socket.may_send() && !ends.host {
            true => socket.send_capacity() - socket.send_queue(),
            false => 0,
        };
        let room = room.min(buffer.len());
        let received = socket.peek(TCP_BUFFER_BYTES).unwrap_or_default();
        let wire = &mut self.wire;
        tokio::select! {
            packet = self.packets.recv(), if wire.from_guest.is_empty() => {
                let Some(packet) = packet else { return Event::Gone };
                self.active = Instant::now();
                wire.from_guest.push_back(packet);
                while let Ok(packet) = self.packets.try_recv() {
                    wire.from_guest.push_back(packet);
                }
                Event::Packets
            }
            place = wire.to_guest.reserve(), if wire.is_full => match place {
                Ok(_) => {
                    wire.is_full = false;
                    Event::Place
                }
                Err(_) => Event::Gone,
            },
            read = reader.read(&mut buffer[..room]), if room > 0 => Event::Read(read),
            written = writer.write(received), if !received.is_empty() => {
                Event::Written(written.and_then(some))
            }
            () = sleep_until(deadline) => Event::Time,
        }
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut::<Socket<'static>>(self.handle)
    }

    fn now(&self) -> smoltcp::time::Instant {
        let micros = self.started.elapsed().as_micros();
        smoltcp::time::Instant::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    }

    fn poll(&mut self) {
        let now = self.now();
        self.interface.poll(now, &mut self.wire, &mut self.sockets);
    }

    /// Whether there is nothing left to say to the guest.
    fn is_over(&mut self) -> bool {
        let idle = self.active.elapsed();
        let is_full = self.wire.is_full;
        match self.socket().state() {
            State::Closed | State::Listen => !is_full,
            State::TimeWait => idle > TCP_LINGER,
            _ => false,
        }
    }

    /// Whether the guest has said its last, and the host has been told.
    fn guest_has_ended(&mut self) -> bool {
        let socket = self.socket();
        let has_finished = matches!(
            socket.state(),
            State::CloseWait | State::LastAck | State::Closing | State::TimeWait
        );
        has_finished && socket.recv_queue() == 0
    }

    /// Whether it has been silent for too long. One that is closed on both sides just ends.
    fn is_idle(&mut self) -> bool {
        let has_ended = self.socket().state() == State::TimeWait;
        !has_ended && self.active.elapsed() >= self.idle_limit()
    }

    fn idle_limit(&mut self) -> Duration {
        match self.socket().state() {
            State::Established => TCP_IDLE_LIMIT,
            State::TimeWait => TCP_LINGER,
            _ => TCP_PASSING_LIMIT,
        }
    }

    /// When something is to be done even if nothing happens.
    fn deadline(&mut self) -> Instant {
        let idle = self.active + self.idle_limit() + Duration::from_millis(1);
        let now = self.now();
        match self.interface.poll_delay(now, &self.sockets) {
            // While nothing can be sent, there is nothing to be in time for.
            Some(delay) if !self.wire.is_full => {
                let delay = Duration::from_micros(delay.total_micros());
                idle.min(Instant::now() + delay.max(TICK))
            }
            _ => idle,
        }
    }
}

/// A writer that takes nothing will take nothing later either.
fn some(length: usize) -> io::Result<usize> {
    match length {
        0 => Err(io::ErrorKind::WriteZero.into()),
        length => Ok(length),
    }
}

/// For the numbers that a connection's segments begin with.
fn random_seed() -> u64 {
    let mut seed = [0; 8];
    // Randomness that is not there yet leaves numbers that can be guessed by the guest alone,
    // which sees them anyway.
    let _ = rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty());
    u64::from_le_bytes(seed)
}
