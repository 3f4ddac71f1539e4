//! The bytes that a hostile agent sends, again and again.

use super::frames::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PAYLOAD_MAX_BYTES, PING,
    PRIORITY, PUSH_PROMISE, RESPONSE, RST_STREAM, SETTINGS, WINDOW_UPDATE, field, frame,
    frame_of_length, message, random,
};

/// The longest message that the host accepts, in bytes.
const MESSAGE_MAX_BYTES: usize = 1 << 20;
/// Number of small frames that are sent in one piece.
const FRAMES: usize = 256;

/// A flood after the greeting: the bytes with this number.
pub(super) type Bytes = fn(usize) -> Vec<u8>;
/// A flood of answers: the bytes with this number, on this stream.
pub(super) type Answer = fn(usize, u32) -> Vec<u8>;

/// Floods in place of HTTP/2.
pub(super) const NO_HTTP2: &[(&str, Bytes)] = &[
    ("zeros", |_| vec![0; PAYLOAD_MAX_BYTES]),
    ("random bytes", |number| {
        random(seed(number), PAYLOAD_MAX_BYTES)
    }),
];

/// Floods of HTTP/2 frames that belong to no call.
pub(super) const FRAME_FLOODS: &[(&str, Bytes)] = &[
    ("settings", |_| frame(SETTINGS, 0, 0, &[]).repeat(FRAMES)),
    ("settings, 2,000 in a frame", |_| {
        frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 1, 0].repeat(2000))
    }),
    ("pings", |_| frame(PING, 0, 0, &[7; 8]).repeat(FRAMES)),
    ("answers to no ping", |_| {
        frame(PING, ACK, 0, &[7; 8]).repeat(FRAMES)
    }),
    ("windows", |_| {
        frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]).repeat(FRAMES)
    }),
    ("a window over 2^31", |_| {
        frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff])
    }),
    ("priorities", |number| {
        frame(PRIORITY, 0, odd(number), &[0, 0, 0, 1, 7])
    }),
    ("resets of no stream", |number| {
        frame(RST_STREAM, 0, odd(number) + 1000, &[0, 0, 0, 8])
    }),
    ("pushes", |number| {
        frame(
            PUSH_PROMISE,
            END_HEADERS,
            1,
            &[&even(number)[..], RESPONSE].concat(),
        )
    }),
    ("a head without an end", |number| match number {
        0 => frame(HEADERS, 0, 1, RESPONSE),
        _ => frame(CONTINUATION, 0, 1, &header(number)),
    }),
    ("heads of no call", |number| {
        frame(HEADERS, END_HEADERS, odd(number) + 1000, RESPONSE)
    }),
    ("a frame of 16 MiB", |_| {
        frame_of_length((1 << 24) - 1, DATA, 0, 1, &[0; PAYLOAD_MAX_BYTES])
    }),
    ("frames of unknown types", |_| {
        frame(0xee, 0xff, 77, &[1; PAYLOAD_MAX_BYTES])
    }),
    ("goodbyes", |_| {
        frame(GOAWAY, 0, 0, &[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]).repeat(FRAMES)
    }),
    ("random frames", |number| {
        let bytes = random(seed(number), 64);
        frame(
            bytes[0] % 12,
            bytes[1],
            u32::from(bytes[2] % 8),
            &bytes[3..],
        )
    }),
];

/// Floods of answers to calls.
pub(super) const ANSWER_FLOODS: &[(&str, Answer)] = &[
    ("frames without data", |_, stream| {
        frame(DATA, 0, stream, &[]).repeat(FRAMES)
    }),
    ("a byte in each frame", |_, stream| {
        frame(DATA, 0, stream, &[0]).repeat(FRAMES)
    }),
    ("messages without content", |_, stream| {
        frame(DATA, 0, stream, &[0; 5].repeat(PAYLOAD_MAX_BYTES / 5))
    }),
    ("messages of 1 MiB", |_, stream| {
        message(stream, &field(1, &vec![b'x'; MESSAGE_MAX_BYTES - 8]))
    }),
    ("messages that never end", |number, stream| match number {
        0 => frame(DATA, 0, stream, &[0, 0, 0x10, 0, 0]),
        1..64 => frame(DATA, 0, stream, &[1; PAYLOAD_MAX_BYTES]),
        _ => frame(DATA, 0, stream, &[]),
    }),
    ("messages over the limit", |_, stream| {
        message_head(stream, u32::MAX)
    }),
    ("bad protobuf", |number, stream| {
        message(stream, &random(seed(number), 1000))
    }),
    ("compressed messages", |_, stream| {
        frame(DATA, 0, stream, &[1, 0, 0, 0, 1, 0])
    }),
    ("reports of disks that do not exist", |number, stream| {
        let report = [field(1, number.to_string().as_bytes()), vec![2 << 3, 2]].concat();
        message(stream, &report).repeat(16)
    }),
    ("heads before the answer", |_, stream| {
        frame(HEADERS, END_HEADERS, stream, b"\x08\x03103").repeat(FRAMES)
    }),
    ("heads again", |_, stream| {
        frame(HEADERS, END_HEADERS, stream, RESPONSE)
    }),
    ("long words of refusal", |_, stream| {
        let message = [&b"\x00\x0cgrpc-message\x7f\x81\x5d"[..], &[b'x'; 12_000]].concat();
        let status = b"\x00\x0bgrpc-status\x0213";
        frame(
            HEADERS,
            END_HEADERS | END_STREAM,
            stream,
            &[&status[..], &message].concat(),
        )
    }),
    ("resets", |_, stream| {
        frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])
    }),
    ("padding", |_, stream| {
        let padding = [&[255][..], &[0; 255]].concat();
        frame(DATA, 8, stream, &padding).repeat(FRAMES)
    }),
];

/// Floods of questions of processes of the guest. Each is also a report of a disk and a part of a file, so that it
/// ends none of the calls that it is an answer to.
pub(super) const QUESTION_FLOODS: &[(&str, Answer)] = &[
    ("questions", |number, stream| {
        message(stream, &question(number, b"/work/flood", b"why")).repeat(16)
    }),
    ("long questions", |number, stream| {
        // JSON writes six bytes for each byte that is kept of the reason.
        let path = [&b"/"[..], &[b'x'; 4095]].concat();
        message(stream, &question(number, &path, &[1; 20_000]))
    }),
    ("questions for nothing", |number, stream| {
        let paths: [&[u8]; 4] = [b"", b"relative", b"/work/../.env", b"/\x1b[2J"];
        let questions = paths.map(|path| message(stream, &question(number, path, b"")));
        questions.concat()
    }),
    ("questions that are withdrawn", |number, stream| {
        let withdrawn = message(stream, &[2 << 3, token(number)]);
        let asked = message(stream, &question(number, b"/work/flood", b"why"));
        [asked, withdrawn].concat().repeat(16)
    }),
];

/// Returns the event that a process asks for a path.
fn question(number: usize, path: &[u8], reason: &[u8]) -> Vec<u8> {
    let asked = [
        vec![1 << 3, token(number)],
        field(2, path),
        field(3, reason),
        field(4, b"flood"),
    ];
    field(1, &asked.concat())
}

/// Returns the agent's number of a question, in one byte.
fn token(number: usize) -> u8 {
    u8::try_from(number % 128).unwrap_or(0)
}

fn message_head(stream: u32, length: u32) -> Vec<u8> {
    frame(DATA, 0, stream, &[&[0], &length.to_be_bytes()[..]].concat())
}

/// Returns a header field that HPACK does not remember, with a value of 8 KiB.
fn header(number: usize) -> Vec<u8> {
    let name = format!("x-{number:06}");
    // A literal field, its value's length of 8,319 as 127 and 8,192 (RFC 7541, section 5.1).
    let start = [&[0, 8][..], name.as_bytes(), &[0x7f, 0x80, 0x40]].concat();
    [start, vec![b'v'; 127 + 8192]].concat()
}

fn seed(number: usize) -> u32 {
    u32::try_from(number % 1_000_000).unwrap_or(0) + 1
}

fn odd(number: usize) -> u32 {
    2 * seed(number) + 1
}

fn even(number: usize) -> [u8; 4] {
    (2 * seed(number)).to_be_bytes()
}
