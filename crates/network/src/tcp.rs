//! One TCP connection of the guest, and the host stream that it is joined to.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
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
use crate::limits::{TCP_IDLE_TIMEOUT, TCP_LINGER, TCP_PASSING_TIMEOUT};
use crate::link::GUEST_ADDRESS;
use crate::log_record::FlowEnd;
use crate::packet::FlowKey;
use crate::queue::Receiver;
use crate::recorded_flow::Traffic;
use crate::wire::{Disconnected, Wire};

/// The shortest delay of a timer.
const TICK: Duration = Duration::from_millis(1);

/// A stream on the host.
pub(crate) trait HostStream: AsyncRead + AsyncWrite + Unpin + Send {
    /// Makes the peer see the end of the stream as a reset, not as an orderly end.
    fn reset_at_end(&self);
}

impl HostStream for TcpStream {
    fn reset_at_end(&self) {
        // If this fails, the peer sees an end in place of a failure; nothing else depends on it.
        let _ = set_socket_linger(self, Some(Duration::ZERO));
    }
}

impl HostStream for DuplexStream {
    fn reset_at_end(&self) {}
}

/// Prepares a host stream for a connection of the guest.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    // The guest's own segments already decide when data is sent.
    stream.set_nodelay(true)?;
    // A peer that vanished silently must not keep its flow indefinitely.
    Ok(set_socket_keepalive(stream, true)?)
}

/// A connection of the guest with its own TCP stack, so that a failure stays within it.
pub(crate) struct TcpFlow {
    wire: Wire,
    packets: Receiver,
    /// The claim on the memory of the socket's buffers.
    _buffers: Buffers,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    started: Instant,
    /// The time of the last packet or the last transfer.
    active: Instant,
}

/// The directions that have ended.
#[derive(Default)]
struct Ends {
    guest: bool,
    host: bool,
    /// The one that was first, or the failure that ended both.
    cause: Option<FlowEnd>,
}

impl Ends {
    /// Keeps the cause of the end that was first.
    fn note(&mut self, cause: FlowEnd) {
        if self.cause.is_none() {
            self.cause = Some(cause);
        }
    }

    /// Ends the connection by a failure.
    fn fail(&mut self, cause: FlowEnd) {
        self.cause = Some(cause);
    }

    fn are_orderly(&self) -> bool {
        self.guest && self.host
    }

    /// Returns the end of a connection that is over.
    fn end(&self) -> FlowEnd {
        match self.cause {
            // The guest's stack was closed by its own reset.
            Some(FlowEnd::Guest | FlowEnd::Peer) | None if !self.are_orderly() => {
                FlowEnd::GuestReset
            }
            cause => cause.unwrap_or(FlowEnd::GuestReset),
        }
    }
}

/// The next event of a connection.
enum Event {
    Packets,
    QueueSlot,
    Revoked,
    Read(io::Result<usize>),
    Written(io::Result<usize>),
    Time,
    Disconnected,
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

    /// Accepts a connection from the guest, whose first segment is in `wire`. `None` if the socket
    /// cannot listen at that address.
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

    /// Opens an inbound connection to a port of the guest. `None` if the socket refuses the
    /// addresses.
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

    /// Copies in both directions until both have ended, or one has failed. Counts the bytes, and returns the end.
    pub(crate) async fn join(mut self, mut stream: impl HostStream, traffic: &Traffic) -> FlowEnd {
        let mut ends = Ends::default();
        let mut revoked = pin!(traffic.revoked());
        loop {
            self.poll();
            if self.is_over() {
                break;
            }
            if !ends.guest && self.guest_has_ended() {
                ends.guest = true;
                ends.note(FlowEnd::Guest);
                if stream.shutdown().await.is_err() {
                    ends.fail(FlowEnd::PeerReset);
                    self.socket().abort();
                    continue;
                }
            }
            match self.next(&mut stream, &ends, revoked.as_mut()).await {
                Event::Packets | Event::QueueSlot => {}
                Event::Revoked => {
                    ends.fail(FlowEnd::Revoked);
                    self.socket().abort();
                }
                Event::Read(Ok(0)) => {
                    ends.host = true;
                    ends.note(FlowEnd::Peer);
                    self.socket().close();
                }
                Event::Read(Ok(bytes)) => {
                    traffic.add_received(bytes);
                    self.active = Instant::now();
                }
                Event::Written(Ok(bytes)) => {
                    traffic.add_sent(bytes);
                    self.active = Instant::now();
                }
                Event::Read(Err(_)) | Event::Written(Err(_)) => {
                    ends.fail(FlowEnd::PeerReset);
                    self.socket().abort();
                }
                Event::Time if self.is_idle() => {
                    ends.fail(FlowEnd::Idle);
                    self.socket().abort();
                }
                Event::Time => {}
                Event::Disconnected => {
                    ends.fail(FlowEnd::Machine);
                    break;
                }
            }
        }
        if !ends.are_orderly() {
            stream.reset_at_end();
        }
        ends.end()
    }

    /// Waits for the next event.
    async fn next(
        &mut self,
        stream: &mut impl HostStream,
        ends: &Ends,
        revoked: Pin<&mut impl Future<Output = ()>>,
    ) -> Event {
        let deadline = self.deadline();
        let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
        let wire = &mut self.wire;
        tokio::select! {
            packet = self.packets.recv(), if wire.from_guest.is_empty() => {
                let Some(packet) = packet else { return Event::Disconnected };
                self.active = Instant::now();
                wire.from_guest.push_back(packet);
                while let Some(packet) = self.packets.try_recv() {
                    wire.from_guest.push_back(packet);
                }
                Event::Packets
            }
            place = wire.await_slot(), if wire.is_full => match place {
                Ok(()) => Event::QueueSlot,
                Err(Disconnected) => Event::Disconnected,
            },
            () = revoked, if ends.cause != Some(FlowEnd::Revoked) => Event::Revoked,
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

    /// Returns true if nothing is left to send to the guest.
    fn is_over(&mut self) -> bool {
        let idle = self.active.elapsed();
        let is_full = self.wire.is_full;
        match self.socket().state() {
            State::Closed | State::Listen => !is_full,
            State::TimeWait => idle > TCP_LINGER,
            _ => false,
        }
    }

    /// Returns true if the guest has finished sending, and the host was passed everything.
    fn guest_has_ended(&mut self) -> bool {
        let socket = self.socket();
        let has_finished = matches!(
            socket.state(),
            State::CloseWait | State::LastAck | State::Closing | State::TimeWait
        );
        has_finished && socket.recv_queue() == 0
    }

    /// Returns true if the connection was silent for too long. A connection that both sides closed
    /// ends without a reset.
    fn is_idle(&mut self) -> bool {
        let has_ended = self.socket().state() == State::TimeWait;
        !has_ended && self.active.elapsed() >= self.idle_limit()
    }

    fn idle_limit(&mut self) -> Duration {
        match self.socket().state() {
            State::Established => TCP_IDLE_TIMEOUT,
            State::TimeWait => TCP_LINGER,
            _ => TCP_PASSING_TIMEOUT,
        }
    }

    /// Returns the time of the next work if no event happens before.
    fn deadline(&mut self) -> Instant {
        let idle = self.active + self.idle_limit() + Duration::from_millis(1);
        let now = self.now();
        match self.interface.poll_delay(now, &self.sockets) {
            // While nothing can be sent, no deadline of the TCP stack can be met.
            Some(delay) if !self.wire.is_full => {
                let delay = Duration::from_micros(delay.total_micros());
                idle.min(Instant::now() + delay.max(TICK))
            }
            _ => idle,
        }
    }
}

/// Reads from the host into the socket, or writes the socket's data to the host. The bytes pass
/// through no buffer in between.
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

/// Returns the number of bytes read into `room`, once for the socket and once for the flow.
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

/// Returns the number of bytes written, once for the socket and once for the flow.
fn write_from(
    stream: &mut impl HostStream,
    bytes: &[u8],
    context: &mut task::Context<'_>,
) -> (usize, Poll<io::Result<usize>>) {
    match Pin::new(stream).poll_write(context, bytes) {
        // A stream that accepts no byte now will not accept one later.
        Poll::Ready(Ok(0)) => (0, Poll::Ready(Err(io::ErrorKind::WriteZero.into()))),
        Poll::Ready(Ok(length)) => (length, Poll::Ready(Ok(length))),
        other => (0, other),
    }
}

/// Returns a seed for the initial sequence numbers of a connection.
fn random_seed() -> u64 {
    let mut seed = [0; 8];
    // Without early randomness the sequence numbers can be guessed by the guest alone, which sees
    // them anyway.
    let _ = rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty());
    u64::from_le_bytes(seed)
}
