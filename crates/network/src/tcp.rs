//! One TCP connection of the guest's, and the stream on the host that it is joined to.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::Duration;

use rustix::net::sockopt::{set_socket_keepalive, set_socket_linger};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use crate::buffers::Buffers;
use crate::limits::{TCP_IDLE_LIMIT, TCP_LINGER, TCP_PASSING_LIMIT};
use crate::link::GUEST_ADDRESS;
use crate::packet::FlowKey;
use crate::queue::Receiver;
use crate::wire::{Gone, Wire};

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
    packets: Receiver,
    /// How large the socket's buffers are, for as long as it has them.
    _buffers: Buffers,
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
    fn new(key: FlowKey, wire: Wire, packets: Receiver, buffers: Buffers) -> Self {
        let mut wire = wire;
        packets.open();
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = random_seed();
        let started = Instant::now();
        let mut interface =
            Interface::new(config, &mut wire, smoltcp::time::Instant::from_micros(0));
        interface.update_ip_addrs(|addresses| {
            let own = IpCidr::new(IpAddress::from(*key.remote.ip()), 32);
            addresses.push(own).expect("an empty list has room");
        });
        let buffer = || SocketBuffer::new(vec![0; buffers.bytes]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_nagle_enabled(false);
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let handle = sockets.add(socket);
        Self {
            wire,
            packets,
            _buffers: buffers,
            interface,
            sockets,
            handle,
            started,
            active: started,
        }
    }

    /// The flow that the guest opened with a segment that is in `wire`; `None` where that opens none.
    pub(crate) fn accept(
        key: FlowKey,
        wire: Wire,
        packets: Receiver,
        buffers: Buffers,
    ) -> Option<Self> {
        let mut flow = Self::new(key, wire, packets, buffers);
        let endpoint = (IpAddress::from(*key.remote.ip()), key.remote.port());
        flow.socket().listen(endpoint).ok()?;
        Some(flow)
    }

    /// The flow that somebody outside opens to a port of the guest.
    pub(crate) fn connect(
        key: FlowKey,
        wire: Wire,
        packets: Receiver,
        buffers: Buffers,
    ) -> Option<Self> {
        let mut flow = Self::new(key, wire, packets, buffers);
        let guest = (IpAddress::from(GUEST_ADDRESS), key.guest_port);
        let own = (IpAddress::from(*key.remote.ip()), key.remote.port());
        let socket = flow.sockets.get_mut::<Socket<'_>>(flow.handle);
        socket.connect(flow.interface.context(), guest, own).ok()?;
        Some(flow)
    }

    /// Joins both ends until both have ended, or one has failed.
    pub(crate) async fn join(mut self, mut stream: impl HostStream) {
        let mut ends = Ends::default();
        loop {
            self.poll();
            if self.is_over() {
                break;
            }
            if !ends.guest && self.guest_has_ended() {
                ends.guest = true;
                if stream.shutdown().await.is_err() {
                    self.socket().abort();
                    continue;
                }
            }
            match self.next(&mut stream, &ends).await {
                Event::Packets | Event::Place => {}
                Event::Read(Ok(0)) => {
                    ends.host = true;
                    self.socket().close();
                }
                Event::Read(Ok(_)) | Event::Written(Ok(_)) => self.active = Instant::now(),
                Event::Read(Err(_)) | Event::Written(Err(_)) => self.socket().abort(),
                Event::Time if self.is_idle() => self.socket().abort(),
                Event::Time => {}
                Event::Gone => break,
            }
        }
        if !(ends.guest && ends.host) {
            stream.reset_at_end();
        }
    }

    /// Waits until there is something to do.
    async fn next(&mut self, stream: &mut impl HostStream, ends: &Ends) -> Event {
        let deadline = self.deadline();
        let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
        let wire = &mut self.wire;
        tokio::select! {
            packet = self.packets.recv(), if wire.from_guest.is_empty() => {
                let Some(packet) = packet else { return Event::Gone };
                self.active = Instant::now();
                wire.from_guest.push_back(packet);
                while let Some(packet) = self.packets.try_recv() {
                    wire.from_guest.push_back(packet);
                }
                Event::Packets
            }
            place = wire.await_place(), if wire.is_full => match place {
                Ok(()) => Event::Place,
                Err(Gone) => Event::Gone,
            },
            event = poll_fn(|context| exchange(socket, stream, ends, context)) => event,
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
        self.wire.leave_place();
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

/// Reads from the host into the socket, or writes to the host what the socket has, without bytes in
/// between.
fn exchange(
    socket: &mut Socket<'_>,
    stream: &mut impl HostStream,
    ends: &Ends,
    context: &mut task::Context<'_>,
) -> Poll<Event> {
    if !ends.host
        && socket.can_send()
        && let Ok(Poll::Ready(read)) = socket.send(|room| read_into(stream, room, context))
    {
        return Poll::Ready(Event::Read(read));
    }
    if socket.can_recv()
        && let Ok(Poll::Ready(written)) = socket.recv(|bytes| write_from(stream, bytes, context))
    {
        return Poll::Ready(Event::Written(written));
    }
    Poll::Pending
}

/// Returns how much of `room` was filled, as the socket takes it and as the flow does.
fn read_into(
    stream: &mut impl HostStream,
    room: &mut [u8],
    context: &mut task::Context<'_>,
) -> (usize, Poll<io::Result<usize>>) {
    let mut buffer = ReadBuf::new(room);
    let read = Pin::new(stream).poll_read(context, &mut buffer);
    let length = buffer.filled().len();
    (length, read.map_ok(|()| length))
}

/// Returns how much of `bytes` was written, as the socket takes it and as the flow does.
fn write_from(
    stream: &mut impl HostStream,
    bytes: &[u8],
    context: &mut task::Context<'_>,
) -> (usize, Poll<io::Result<usize>>) {
    match Pin::new(stream).poll_write(context, bytes) {
        // A writer that takes nothing will take nothing later either.
        Poll::Ready(Ok(0)) => (0, Poll::Ready(Err(io::ErrorKind::WriteZero.into()))),
        Poll::Ready(Ok(length)) => (length, Poll::Ready(Ok(length))),
        other => (0, other),
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
