//! HTTP/2 frames, and a generator of random bytes.

/// Types of frames (RFC 9113, section 6).
pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

/// Flags of frames.
pub(super) const ACK: u8 = 1;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;

/// Length of a frame's header, in bytes.
pub(super) const HEADER_BYTES: usize = 9;
/// The longest payload that the host accepts, in bytes.
pub(super) const PAYLOAD_MAX_BYTES: usize = 16 << 10;

/// `:status 200` and `content-type: application/grpc` in HPACK.
pub(super) const RESPONSE: &[u8] = b"\x88\x5f\x10application/grpc";

/// Returns a frame.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    frame_of_length(length, kind, flags, stream, payload)
}

/// Returns a frame that announces another length than its payload has.
pub(super) fn frame_of_length(
    length: u32,
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &[u8],
) -> Vec<u8> {
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Returns a message of gRPC, in as many frames as it takes.
pub(super) fn message(stream: u32, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    let bytes = [&[0], &length.to_be_bytes()[..], content].concat();
    let frames = bytes.chunks(PAYLOAD_MAX_BYTES);
    frames
        .flat_map(|payload| frame(DATA, 0, stream, payload))
        .collect()
}

/// Returns a field of Protocol Buffers that has a length.
pub(super) fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = content.len();
    while length > 0x7f {
        bytes.push(length.to_le_bytes()[0] | 0x80);
        length >>= 7;
    }
    bytes.push(length.to_le_bytes()[0]);
    bytes.extend(content);
    bytes
}

/// Returns bytes that differ for each seed (xorshift32).
pub(super) fn random(seed: u32, length_bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0]
    };
    std::iter::repeat_with(next).take(length_bytes).collect()
}
