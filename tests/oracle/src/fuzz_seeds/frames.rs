//! Frames of a guest: a byte that chooses whether they are taken raw, then pieces behind their lengths. The two highest bits
//! of a length choose the kind of a piece: a frame, a DNS query, a frame whose checksums are to be filled in.

/// The header of a guest's frame, up to its type.
const ADDRESSES: &[u8] = b"\xff\xff\xff\xff\xff\xff\x02msb\0\x02";
const GUEST: [u8; 4] = [192, 0, 0, 2];
const GATEWAY: [u8; 4] = [192, 0, 0, 1];
const FAR: [u8; 4] = [10, 0, 0, 1];
/// The query for the address of `api.example.com`.
const QUERY: &[u8] = b"\x13\x57\x01\0\0\x01\0\0\0\0\0\0\x03api\x07example\x03com\0\0\x01\0\x01";
/// Kinds of pieces, and protocols of IP.
const QUERIED: u16 = 1;
const SOUND: u16 = 2;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Flags of TCP (RFC 9293).
const SYN: u8 = 2;
const RST: u8 = 4;
const PUSH_ACK: u8 = 0x18;

fn length(bytes: &[u8]) -> u16 {
    u16::try_from(bytes.len()).unwrap_or(0)
}

fn piece(kind: u16, bytes: &[u8]) -> Vec<u8> {
    [&((kind << 14) | length(bytes)).to_be_bytes()[..], bytes].concat()
}

fn packet(protocol: u8, to: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let total = (20 + length(payload)).to_be_bytes();
    let frame = [
        ADDRESSES,
        b"\x08\0\x45\0",
        &total,
        &[0, 0, 0, 0, 64, protocol, 0, 0],
        &GUEST,
        &to,
        payload,
    ];
    piece(SOUND, &frame.concat())
}

fn segment(port: u16, numbers: [u32; 2], flags: u8, payload: &[u8]) -> Vec<u8> {
    let [sequence, acknowledged] = numbers.map(u32::to_be_bytes);
    let parts = [
        &40_000_u16.to_be_bytes()[..],
        &port.to_be_bytes(),
        &sequence,
        &acknowledged,
        &[0x50, flags],
        &1000_u16.to_be_bytes(),
        &[0; 4],
        payload,
    ];
    parts.concat()
}

pub(super) fn frames() -> Vec<(String, Vec<u8>)> {
    let arp = [
        ADDRESSES,
        b"\x08\x06\0\x01\x08\0\x06\x04\0\x01\x02msb\0\x02",
        &GUEST,
        &[0; 6],
        &GATEWAY,
    ]
    .concat();
    let echo = [8, 0, 0xf7, 0xff, 0, 0, 0, 0];
    let datagram = b"\x13\x88\0\x50\0\x0a\0\0hi";
    let over_tcp = [&length(QUERY).to_be_bytes()[..], QUERY].concat();
    let raw_length = u32::from(length(&arp)).to_be_bytes();
    let of = |pieces: &[Vec<u8>]| [&[0_u8][..], &pieces.concat()].concat();
    [
        ("arp", of(&[piece(0, &arp)])),
        ("ping", of(&[packet(ICMP, GATEWAY, &echo)])),
        (
            "query",
            of(&[piece(QUERIED, QUERY), piece(QUERIED, &QUERY[..20])]),
        ),
        (
            "connect",
            of(&[
                packet(TCP, GATEWAY, &segment(9, [1, 0], SYN, b"")),
                packet(TCP, GATEWAY, &segment(9, [2, 0], RST, b"")),
            ]),
        ),
        (
            "denied",
            of(&[
                packet(TCP, FAR, &segment(80, [1, 0], SYN, b"")),
                packet(UDP, FAR, datagram),
            ]),
        ),
        (
            "names-over-tcp",
            of(&[
                packet(TCP, GATEWAY, &segment(53, [1, 0], SYN, b"")),
                packet(TCP, GATEWAY, &segment(53, [2, 1], PUSH_ACK, &over_tcp)),
            ]),
        ),
        (
            "raw",
            [&[1_u8][..], &raw_length, &arp, b"\0\x02\0\x01"].concat(),
        ),
    ]
    .map(|(name, bytes)| (name.to_owned(), bytes))
    .into()
}
