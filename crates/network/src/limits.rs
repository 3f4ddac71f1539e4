//! Limits on the host resources that a guest's network may use.

use std::time::Duration;

/// The largest number of TCP connections at once.
pub(crate) const TCP_FLOWS_MAX: usize = 1024;
/// The largest number of UDP flows at once. A flow is a guest port with a remote address and port.
pub(crate) const UDP_FLOWS_MAX: usize = 1024;
/// The largest number of each of these that may be inbound. The rest is reserved for flows that the
/// guest opens.
pub(crate) const ARRIVALS_MAX: usize = 512;

/// The largest and the smallest buffer for each direction of a connection.
pub(crate) const TCP_BUFFER_MAX_BYTES: usize = 64 * 1024;
pub(crate) const TCP_BUFFER_MIN_BYTES: usize = 4 * 1024;
/// The memory for all buffers above the smallest size. It applies once to the guest's connections
/// and once to inbound ones.
pub(crate) const TCP_BUFFERS_BYTES: usize = 6 << 20;

/// The number of packets that may wait for one flow. More are dropped, as a router with a full
/// queue does.
pub(crate) const FLOW_QUEUE_PACKETS: usize = 128;
/// The memory of the packets that may wait for one flow.
pub(crate) const FLOW_QUEUE_BYTES: usize = 192 * 1024;
/// The memory of the packets that may wait for all flows together. It applies once to packets from
/// the guest and once to inbound ones.
pub(crate) const FLOW_QUEUES_BYTES: usize = 3 << 20;
/// The number of frames that may wait for the guest. While the queue is full, flows do not read
/// from the host.
pub(crate) const GUEST_QUEUE_FRAMES: usize = 256;

/// DNS queries in progress at once. Further ones are dropped, and the guest repeats them.
pub(crate) const QUESTIONS_MAX: usize = 128;
/// TCP connections for DNS queries at once.
pub(crate) const NAME_STREAMS_MAX: usize = 16;

/// The time that the host may take to connect.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// The idle time of an established connection, the shortest that RFC 5382 allows a translator.
pub(crate) const TCP_IDLE_TIMEOUT: Duration = Duration::from_secs(2 * 3600 + 4 * 60);
/// The idle time of a connection that is being opened or closed, also from RFC 5382.
pub(crate) const TCP_PASSING_TIMEOUT: Duration = Duration::from_secs(4 * 60);
/// The time that a closed connection still answers retransmissions of the guest.
pub(crate) const TCP_LINGER: Duration = Duration::from_millis(200);
/// The idle time of a UDP flow with one query, and of any other, as in Linux's connection tracking.
pub(crate) const UDP_QUESTION_TIMEOUT: Duration = Duration::from_secs(30);
pub(crate) const UDP_STREAM_TIMEOUT: Duration = Duration::from_secs(120);
/// The time that a resolver may take to answer.
pub(crate) const RESOLVER_TIMEOUT: Duration = Duration::from_secs(4);
/// The idle time of a TCP connection for DNS queries.
pub(crate) const NAME_STREAM_TIMEOUT: Duration = Duration::from_secs(30);

/// The number of connections at once that go through the edge: it ends their TLS, or passes them on
/// if their names have the same address. The rest is reserved for connections to other hosts.
pub(crate) const EDGE_FLOWS_MAX: usize = msb_tls_edge::CONNECTIONS_MAX;
/// The largest buffer for each direction between such a connection and the edge: more than a TLS
/// record. It is no larger than the buffers of the connection, whose sum is bounded.
pub(crate) const EDGE_BUFFER_MAX_BYTES: usize = 32 * 1024;
/// The memory of all of these buffers.
const EDGE_BUFFERS_BYTES: usize = TCP_BUFFERS_BYTES + EDGE_FLOWS_MAX * 2 * TCP_BUFFER_MIN_BYTES;
const _: () = assert!(EDGE_FLOWS_MAX < TCP_FLOWS_MAX);
// The process has a data limit of 192 MiB if it ends TLS.
const _: () = assert!(EDGE_BUFFERS_BYTES + msb_tls_edge::MEMORY_MAX_BYTES <= 160 << 20);
/// The time in which the edge ends a connection that the guest has ended.
pub(crate) const EDGE_END_TIMEOUT: Duration = Duration::from_secs(5);

/// The number of clients of the control socket at once: the refresh of the values, and others for
/// a moment.
pub(crate) const CONTROL_CLIENTS_MAX: usize = 4;
/// The time after which a client without a request gives its place to another one, if all are taken.
pub(crate) const CONTROL_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// The number of requests of all clients that are carried out within a second: as many as a
/// sandbox has secrets.
pub(crate) const CONTROL_REQUESTS_MAX: u32 = 16;
/// The time in which a client has to take an answer.
pub(crate) const CONTROL_ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The number of open questions about denied destinations. The supervisor leaves the other 4 of a sandbox to processes
/// that ask by themselves.
pub(crate) const ASKS_MAX: usize = 12;
/// The number of questions that are asked within a second. A guest may ask for other names as fast as it likes.
pub(crate) const ASKS_PER_SECOND_MAX: u32 = 32;
/// The time in which a destination that the user has denied is denied without another question: programs try again
/// at once, and ask for several kinds of records of one name.
pub(crate) const ASK_DENIAL_KEPT: Duration = Duration::from_secs(10);
/// The number of such destinations.
pub(crate) const ASK_DENIALS_MAX: usize = 64;
/// The number of DNS queries that wait for the user. Further ones are dropped, and the guest repeats them.
pub(crate) const ASKED_QUERIES_MAX: usize = 32;
/// The messages that wait for the supervisor.
pub(crate) const SUPERVISOR_QUEUE: usize = 64;
/// The time in which a name that the user has allowed once can be resolved and connected to.
pub(crate) const ALLOWED_ONCE: Duration = Duration::from_secs(60);
/// The number of such names.
pub(crate) const ALLOWED_ONCE_MAX: usize = 64;
