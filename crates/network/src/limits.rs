//! How much of the host a guest's network may take.

use std::time::Duration;

/// TCP connections at once.
pub(crate) const TCP_FLOWS_MAX: usize = 1024;
/// UDP flows at once: pairs of a port of the guest and an address with port beyond.
pub(crate) const UDP_FLOWS_MAX: usize = 1024;
/// How many of each of these may have begun outside, at published ports. The rest is always there for
/// what the guest begins.
pub(crate) const ARRIVALS_MAX: usize = 512;

/// The largest and the smallest buffer for each direction of a connection, in bytes.
pub(crate) const TCP_BUFFER_MAX_BYTES: usize = 64 * 1024;
pub(crate) const TCP_BUFFER_MIN_BYTES: usize = 4 * 1024;
/// What all buffers that are larger than the smallest may take together, in bytes: as much for
/// connections of the guest's, and as much for arrivals.
pub(crate) const TCP_BUFFERS_BYTES: usize = 6 << 20;

/// Packets that wait for one flow; further ones are dropped, as a full queue of a router does.
pub(crate) const FLOW_QUEUE_PACKETS: usize = 128;
/// The same in bytes.
pub(crate) const FLOW_QUEUE_BYTES: usize = 192 * 1024;
/// What may wait for all flows together, in bytes: as much that comes from the guest, and as much that
/// comes from outside.
pub(crate) const FLOW_QUEUES_BYTES: usize = 3 << 20;
/// Frames that wait for the guest. While there are so many, flows do not read from the host.
pub(crate) const GUEST_QUEUE_FRAMES: usize = 256;

/// Questions for names under way at once; further ones are dropped, and asked again by the guest.
pub(crate) const QUESTIONS_MAX: usize = 128;
/// Connections over which names are asked for at once.
pub(crate) const NAME_STREAMS_MAX: usize = 16;

/// How long the host may take to connect.
pub(crate) const CONNECT_LIMIT: Duration = Duration::from_secs(60);
/// How long an established connection may be silent: RFC 5382 asks translators for no less.
pub(crate) const TCP_IDLE_LIMIT: Duration = Duration::from_secs(2 * 3600 + 4 * 60);
/// How long one that is being opened or closed may be silent, from the same.
pub(crate) const TCP_PASSING_LIMIT: Duration = Duration::from_secs(4 * 60);
/// How long a closed connection answers what the guest repeats.
pub(crate) const TCP_LINGER: Duration = Duration::from_millis(200);
/// How long a UDP flow may be silent in which there was one question, and any other, as Linux's
/// connection tracking has it.
pub(crate) const UDP_QUESTION_LIMIT: Duration = Duration::from_secs(30);
pub(crate) const UDP_STREAM_LIMIT: Duration = Duration::from_secs(120);
/// How long a resolver may take to answer.
pub(crate) const RESOLVER_LIMIT: Duration = Duration::from_secs(4);
/// How long a connection over which names are asked for may be silent.
pub(crate) const NAME_STREAM_LIMIT: Duration = Duration::from_secs(30);
