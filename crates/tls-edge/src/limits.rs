//! The bounds of ended connections. A guest that fills all of them takes about 58 MiB.

use std::time::Duration;

/// The largest number of connections at once that are ended, or whose hello is not read yet.
///
/// Each takes at most about 450 KiB: two TLS states with 64 KiB of records, two buffers or windows of HTTP.
pub(crate) const CONNECTIONS_MAX: usize = 128;
/// The largest number of connections at once that do handshakes. Their signatures are what costs time.
pub(crate) const HANDSHAKES_MAX: usize = 32;

/// The largest hello. One with post-quantum keys and 2 KiB of extensions has 4 KiB; a record has 16 KiB.
pub(crate) const HELLO_MAX_BYTES: usize = 16 * 1024;
/// The time that the guest may take for its hello. A client sends it as soon as it is connected.
pub(crate) const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// The time of one handshake, which is two exchanges. A host on a slow link took 4 s.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(20);

/// The largest head of an HTTP/1.1 message, which has at most 100 headers. Servers accept 8 KiB to 32 KiB.
pub(crate) const HTTP1_BUFFER_BYTES: usize = 32 * 1024;

/// The bytes of an HTTP/2 stream that may wait for its reader.
pub(crate) const STREAM_WINDOW_BYTES: u32 = 64 * 1024;
/// The bytes of all streams of an HTTP/2 connection that may wait for their readers.
pub(crate) const CONNECTION_WINDOW_BYTES: u32 = 128 * 1024;
/// The largest number of streams of an HTTP/2 connection at once.
pub(crate) const STREAMS_MAX: u32 = 32;
/// The largest head of an HTTP/2 message, as HTTP/2 counts it. It is that of HTTP/1.1.
pub(crate) const HTTP2_HEADERS_MAX_BYTES: u32 = 32 * 1024;
/// The bytes of an HTTP/2 stream that may wait for the connection.
pub(crate) const STREAM_SEND_BYTES: usize = 64 * 1024;
/// The number of streams that one end may reset before the connection is closed: a flood of requests that are
/// reset at once (CVE-2023-44487) ends here. It is h2's own.
pub(crate) const RESET_STREAMS_MAX: usize = 20;
/// The number of streams that are reset because of an error of the peer, before the connection is closed.
pub(crate) const ERROR_STREAMS_MAX: usize = 64;

/// The buffer of each direction of a connection that is copied.
pub(crate) const COPY_BUFFER_BYTES: usize = 16 * 1024;
