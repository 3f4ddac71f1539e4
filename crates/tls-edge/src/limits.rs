//! The bounds of ended connections, and of the memory that guests and hosts can have them take.
//!
//! Whatever one side sends waits in memory while the other one does not read, and both can be hostile. The sum of all
//! that can wait at once is [`MEMORY_MAX_BYTES`].

use std::time::Duration;

use msb_secrets::{SECRETS_MAX, VALUE_MAX_BYTES};

use crate::values::KNOWN_MAX_BYTES;

const KIB: usize = 1024;

/// The largest number of connections at once that are ended, or whose hello is not read yet. Most of them rest: they hold
/// two sessions of TLS, and no HTTP.
pub const CONNECTIONS_MAX: usize = 1_008;
/// The largest number of requests at once on all of these connections. A request is one until both bodies have ended, and
/// further ones wait in order.
pub(crate) const ACTIVE_MAX: usize = 96;
/// The time that a request may wait for its turn. Clients give up after 30 s to 60 s.
pub(crate) const TURN_TIMEOUT: Duration = Duration::from_secs(60);
/// The time that a connection in HTTP/1.1 may have its turn without a request, such as for a head of which only a part has
/// arrived.
pub(crate) const LULL_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest number of connections that speak HTTP/2, with up to [`STREAMS_MAX`] requests at once. These do not rest. The
/// host is offered only HTTP/1.1 on a further one, which takes a tenth of the memory and is as fast.
pub(crate) const HTTP2_CONNECTIONS_MAX: usize = 8;
/// The largest number of connections at once that do handshakes. Their signatures are what costs time.
pub(crate) const HANDSHAKES_MAX: usize = 32;

/// The largest hello. One with post-quantum keys and 2 KiB of extensions has 4 KiB; a record has 16 KiB.
pub(crate) const HELLO_MAX_BYTES: usize = 16 * KIB;
/// The time that the guest may take for its hello. A client sends it as soon as it is connected.
pub(crate) const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest sum of the certificates of a host, which its session keeps. A chain has 3 KiB to 7 KiB.
pub(crate) const CERTIFICATES_MAX_BYTES: usize = 10 * KIB;
/// The largest number of bytes without a text that a session may hold while its connection rests: an incomplete message.
/// A host sends a few tickets of 250 bytes.
pub(crate) const UNREAD_MAX_BYTES: usize = 4 * KIB;
/// The time of one handshake, which is two exchanges. A host on a slow link took 4 s.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(20);

/// The largest head of an HTTP/1.1 message. Servers accept 8 KiB to 32 KiB.
pub(crate) const HTTP1_BUFFER_BYTES: usize = 32 * KIB;

/// The bytes of a guest's upload that may wait for the host. The guest is in the same machine: they are sent again in
/// less than a millisecond.
pub(crate) const GUEST_STREAM_WINDOW_BYTES: u32 = 64 << 10;
/// The same of all streams of a connection.
pub(crate) const GUEST_CONNECTION_WINDOW_BYTES: u32 = 128 << 10;
/// The bytes of an answer that the host may send ahead. h2 asks for more once a third of them is read, so that two
/// thirds arrive in each round trip: 8.7 MB/s at 80 ms.
pub(crate) const HOST_STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// The same of all streams of a connection. Three that the guest does not read leave the fourth its speed.
pub(crate) const HOST_CONNECTION_WINDOW_BYTES: u32 = 4 << 20;
/// The largest number of streams of an HTTP/2 connection at once.
pub(crate) const STREAMS_MAX: u32 = 32;
/// The largest head of an HTTP/2 message, as HTTP/2 counts it. It is that of HTTP/1.1.
pub(crate) const HTTP2_HEADERS_MAX_BYTES: u32 = 32 << 10;
/// The bytes of an HTTP/2 stream that wait for the connection before the next piece of its body is read. The pieces wait
/// in order and are sent one after the other, so that more would make nothing faster.
pub(crate) const STREAM_SEND_BYTES: usize = 8 * KIB;
/// The number of streams that one end may reset before the connection is closed: a flood of requests that are
/// reset at once (CVE-2023-44487) ends here. It is h2's own.
pub(crate) const RESET_STREAMS_MAX: usize = 20;
/// The number of streams that are reset because of an error of the peer, before the connection is closed.
pub(crate) const ERROR_STREAMS_MAX: usize = 64;

/// The largest number of fields in a head. It is hyper's own for HTTP/1.1.
pub(crate) const FIELDS_MAX: usize = 100;
/// The largest trailers: those of gRPC have a status, a message and its details, for which servers allow 8 KiB.
pub(crate) const TRAILERS_MAX_BYTES: usize = 8 * KIB;
/// The largest number of fields in trailers.
pub(crate) const TRAILERS_FIELDS_MAX: usize = 20;

/// The buffer of each direction of a connection that is copied.
pub(crate) const COPY_BUFFER_BYTES: usize = 16 * KIB;

/// The memory of all ended connections and all values, at most.
///
/// A piece of a body keeps the buffer that it arrived in, together with pieces that have gone on. A peer that sends
/// single bytes to streams which nobody reads exceeds this sum; the data limit of the process is behind it.
pub const MEMORY_MAX_BYTES: usize = SECRETS_MAX * KNOWN_MAX_BYTES
    + (CONNECTIONS_MAX - ACTIVE_MAX - HTTP2_CONNECTIONS_MAX) * IDLE_BYTES
    + ACTIVE_MAX * CONNECTION_BYTES
    + HTTP2_CONNECTIONS_MAX * HTTP2_BYTES;

/// One connection that rests, is in a handshake, or has not sent its hello.
const IDLE_BYTES: usize = max(
    2 * IDLE_TLS_BYTES + CERTIFICATES_MAX_BYTES + 4 * KIB,
    HELLO_BYTES,
);
/// A session of TLS that holds no text: its keys, the buffer of the next read, and the bytes without a text. What is read
/// ends with its record, so that no part of the next one is left.
const IDLE_TLS_BYTES: usize = 4 * KIB + 4 * KIB + UNREAD_MAX_BYTES;
/// A hello: its bytes, the record that they are in, and what was read with it.
const HELLO_BYTES: usize = HELLO_MAX_BYTES + (18 + 4) * KIB;
// A connection that is passed on takes no more.
const _: () = assert!(2 * COPY_BUFFER_BYTES <= IDLE_BYTES);
// A stream in HTTP/2 takes no more of its turn than a connection in HTTP/1.1.
const _: () = assert!(STREAM_BYTES <= CONNECTION_BYTES);

/// One connection, in HTTP/1.1: two sessions of TLS, two ends of HTTP, a head, and the search of an answer.
const CONNECTION_BYTES: usize = 2 * TLS_BYTES + 2 * HTTP1_BYTES + HEAD_BYTES + SEARCH_BYTES;
/// A session of TLS: 64 KiB of records to be sent, which is the limit of rustls, and one that has arrived, with its text.
const TLS_BYTES: usize = (64 + 18 + 16) * KIB;
/// An end of HTTP/1.1: what is read, what is to be written, and a piece of a body.
const HTTP1_BYTES: usize = 3 * HTTP1_BUFFER_BYTES;

/// A connection in HTTP/2 beside the streams that have their turn: its two sessions and their ends, with a frame each way,
/// the windows, and the heads of streams that wait.
const HTTP2_BYTES: usize = CONNECTION_BYTES
    + 2 * 4 * FRAME_BYTES
    + size(GUEST_CONNECTION_WINDOW_BYTES)
    + size(HOST_CONNECTION_WINDOW_BYTES)
    + size(STREAMS_MAX) * HEAD_BYTES;
/// A stream: in each direction the bytes and the frame that wait in h2, and a piece that waits for them; one head, which
/// is that of the request or that of the answer; the trailers of both; and the search of the answer.
const STREAM_BYTES: usize =
    2 * (STREAM_SEND_BYTES + 2 * FRAME_BYTES) + HEAD_BYTES + 2 * TRAILERS_BYTES + SEARCH_BYTES;
/// The largest frame that is accepted, h2's own.
const FRAME_BYTES: usize = 16 * KIB;

/// A head: its text, and the entries of its fields in a map.
const HEAD_BYTES: usize = size(HTTP2_HEADERS_MAX_BYTES) + FIELDS_MAX * FIELD_BYTES;
const TRAILERS_BYTES: usize = TRAILERS_MAX_BYTES + TRAILERS_FIELDS_MAX * FIELD_BYTES;
/// An entry of a map, which grows to twice its need, and an allocation of its own for a name.
const FIELD_BYTES: usize = 2 * 110;

/// The search of an answer: the longest text that is held back, which is a value with three bytes for each of its own,
/// and the state of each needle.
const SEARCH_BYTES: usize = 3 * VALUE_MAX_BYTES + 12 * KIB;

const fn max(one: usize, other: usize) -> usize {
    if one > other { one } else { other }
}

#[expect(clippy::as_conversions, reason = "no other conversion is const")]
const fn size(bytes: u32) -> usize {
    bytes as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_sandbox_is_bounded() {
        // The data limit of the network process is 192 MiB, of which its other flows take a part.
        let mib = MEMORY_MAX_BYTES >> 20;
        assert!((130..150).contains(&mib), "{mib} MiB");
    }

    #[test]
    fn an_answer_is_fast_on_a_long_way() {
        let round_trip_ms = 80;
        let bytes_per_round_trip = u64::from(HOST_STREAM_WINDOW_BYTES) * 2 / 3;
        assert!(bytes_per_round_trip * 1_000 / round_trip_ms >= 8_000_000);
        const { assert!(HOST_CONNECTION_WINDOW_BYTES >= 4 * HOST_STREAM_WINDOW_BYTES) };
    }
}
