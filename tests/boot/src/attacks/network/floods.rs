//! Attacks of a hostile guest on the process of its network, and of others on published ports.
//!
//! Random traffic never leaves the host: the settings list the addresses that can be reached.

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use smoltcp::wire::IpProtocol;

use super::guest::{GATEWAY, Guest, datagram, packet, syn};
use super::hosts::{Silent, connect_from, silent_datagrams};
use super::victim::Victim;

/// The first of the guest's own ports that connections come from.
pub(super) const FIRST_PORT: u16 = 10_000;
/// Length of a packet of a guest with an MTU of 65,535 bytes.
const LONG_BYTES: usize = 60_000;
/// The largest segment and the largest datagram that fit the wire.
pub(super) const SEGMENT_BYTES: usize = 1460;
const DATAGRAM_BYTES: usize = 1472;
/// The largest buffer of a connection, in bytes.
const BUFFER_BYTES: usize = 64 * 1024;
/// The most flows of each kind that may be inbound.
const ARRIVALS_MAX: usize = 512;
pub(super) const DNS: SocketAddrV4 = SocketAddrV4::new(GATEWAY, 53);

/// An attack: settings, and the work under them, which returns a summary in words.
pub(super) struct Flood {
    pub(super) name: &'static str,
    pub(super) settings: fn() -> Result<Value>,
    pub(super) run: fn(&Victim, &mut Guest, u16) -> Result<String>,
}

pub(super) const FLOODS: &[Flood] = &[
    Flood {
        name: "garbage",
        settings: nothing_allowed,
        run: garbage,
    },
    Flood {
        name: "connections to a silent host",
        settings: loopback_allowed,
        run: pending,
    },
    Flood {
        name: "established connections, their buffers full",
        settings: loopback_allowed,
        run: established,
    },
    Flood {
        name: "flows of datagrams",
        settings: loopback_allowed,
        run: datagrams,
    },
    Flood {
        name: "questions for names",
        settings: silent_resolver,
        run: questions,
    },
    Flood {
        name: "arrivals",
        settings: published,
        run: arrivals,
    },
    Flood {
        name: "all of them at once",
        settings: all_settings,
        run: all,
    },
];

/// Keeps a server until this program ends.
pub(super) fn keep<T>(server: T) -> &'static T {
    Box::leak(Box::new(server))
}

fn nothing_allowed() -> Result<Value> {
    Ok(json!({ "reach": "listed", "resolvers": ["127.0.0.1:9"] }))
}

fn loopback_allowed() -> Result<Value> {
    Ok(json!({ "reach": "listed", "allow": ["127.0.0.1"], "resolvers": ["127.0.0.1:9"] }))
}

fn silent_resolver() -> Result<Value> {
    let resolver = keep(silent_datagrams()?).local_addr()?;
    Ok(json!({ "reach": "listed", "allow": ["*.example"], "resolvers": [resolver] }))
}

fn published() -> Result<Value> {
    let mut settings = loopback_allowed()?;
    settings["publish"] = json!(["127.0.0.1:0:80/tcp", "127.0.0.1:0:80/udp"]);
    Ok(settings)
}

fn all_settings() -> Result<Value> {
    let mut settings = published()?;
    settings["allow"] = json!(["127.0.0.1", "*.example"]);
    settings["resolvers"] = silent_resolver()?["resolvers"].clone();
    Ok(settings)
}

/// Sends frames of every length, with headers that are right to some depth.
fn garbage(_: &Victim, guest: &mut Guest, flows: u16) -> Result<String> {
    let mut random = Random(7);
    let count = u32::from(flows) * 40;
    for _ in 0..count {
        let length = match random.below(50) {
            0 => LONG_BYTES,
            _ => random.below(1600),
        };
        let bytes = random.bytes(length);
        let protocol = [IpProtocol::Tcp, IpProtocol::Udp, IpProtocol::Icmp][random.below(3)];
        let to = Ipv4Addr::from_bits(random.next());
        let frame = match random.below(4) {
            0 => bytes,
            1 => [&[2; 12][..], &[8, 6], &bytes].concat(),
            2 => packet(GATEWAY, protocol, &bytes),
            _ => packet(to, protocol, &bytes),
        };
        guest.send(&frame)?;
    }
    Ok(format!("{count} frames"))
}

/// Opens connections that stay pending on the host, and sends unrequested data for them.
fn pending(_: &Victim, guest: &mut Guest, flows: u16) -> Result<String> {
    let silent = keep(Silent::listen()?).at()?;
    for port in ports(flows) {
        guest.send(&syn(port, silent))?;
    }
    guest.await_ping()?;
    for port in ports(flows) {
        for number in 0..64 {
            guest.push(port, silent, number * SEGMENT_BYTES, &[1; SEGMENT_BYTES])?;
        }
        for _ in 0..4 {
            guest.push(port, silent, 0, &[1; LONG_BYTES])?;
        }
    }
    Ok(format!("{flows} connections"))
}

/// Fills the buffers of connections in both directions. The guest leaves out the first byte of its
/// data, so that nothing can be passed on, and confirms nothing that it receives.
fn established(_: &Victim, guest: &mut Guest, flows: u16) -> Result<String> {
    let to = guest.source()?;
    guest.connect(ports(flows), to)?;
    fill(guest, flows, to)?;
    // The guest also ignores the data that is repeated.
    guest.reads = false;
    fill(guest, flows, to)?;
    Ok(format!("{} connections", guest.established.len()))
}

fn fill(guest: &mut Guest, flows: u16, to: SocketAddrV4) -> Result<()> {
    for port in ports(flows) {
        let segments = (1..BUFFER_BYTES).step_by(SEGMENT_BYTES);
        for offset in segments {
            guest.push(port, to, offset, &[1; SEGMENT_BYTES])?;
        }
    }
    Ok(())
}

fn datagrams(_: &Victim, guest: &mut Guest, flows: u16) -> Result<String> {
    let port = keep(silent_datagrams()?).local_addr()?.port();
    let to = SocketAddrV4::new(GATEWAY, port);
    for _ in 0..20 {
        for port in ports(flows) {
            guest.send(&datagram(port, to, &[1; DATAGRAM_BYTES]))?;
        }
    }
    Ok(format!("{flows} flows"))
}

/// Sends queries that nothing answers: in datagrams, and in part over connections.
fn questions(_: &Victim, guest: &mut Guest, flows: u16) -> Result<String> {
    for number in 0..u32::from(flows) * 10 {
        guest.send(&datagram(5300, DNS, &question(number)))?;
    }
    for port in ports(flows) {
        guest.send(&syn(port, DNS))?;
    }
    guest.take_for(Duration::from_millis(200))?;
    let streams: Vec<_> = guest.established.keys().copied().collect();
    for (port, to) in &streams {
        // All but the last of 65,535 announced bytes.
        guest.push(*port, *to, 0, &[0xff, 0xff])?;
        for offset in (2..65_000).step_by(SEGMENT_BYTES) {
            guest.push(*port, *to, offset, &[1; SEGMENT_BYTES])?;
        }
    }
    Ok(format!(
        "{} questions, {} connections",
        u32::from(flows) * 10,
        streams.len()
    ))
}

/// Returns a query for the address of a name with this number.
fn question(number: u32) -> Vec<u8> {
    let label = format!("n{number}");
    let id = number.to_be_bytes();
    let header = [id[2], id[3], 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    let length = u8::try_from(label.len()).unwrap_or(0);
    [
        &header[..],
        &[length],
        label.as_bytes(),
        b"\x07example\0\0\x01\0\x01",
    ]
    .concat()
}

/// Fills the published ports from two peers, and then lets the guest connect.
fn arrivals(victim: &Victim, guest: &mut Guest, flows: u16) -> Result<String> {
    let [streams, datagrams] = published_ports(victim)?;
    let mut clients = Vec::new();
    for peer in [Ipv4Addr::new(127, 0, 0, 2), Ipv4Addr::new(127, 0, 0, 3)] {
        for _ in 0..flows {
            clients.push(connect_from(peer, streams)?);
            guest.take()?;
        }
        let socket = || UdpSocket::bind((peer, 0));
        for _ in 0..flows {
            socket()?.send_to(&[1; DATAGRAM_BYTES], datagrams)?;
            guest.take()?;
        }
    }
    guest.take_for(Duration::from_millis(500))?;
    let admitted = guest.established.len();
    ensure!(
        admitted <= ARRIVALS_MAX && admitted > usize::from(flows.min(200)),
        "{admitted} arrivals were admitted"
    );
    let to = guest.source()?;
    guest.connect(FIRST_PORT..FIRST_PORT + ARRIVALS_LEAVE, to)?;
    Ok(format!(
        "{admitted} of {} arrivals, {ARRIVALS_LEAVE} connections of the guest's beside them",
        clients.len()
    ))
}

/// Number of connections that the guest opens beside the inbound ones.
const ARRIVALS_LEAVE: u16 = 256;

fn published_ports(victim: &Victim) -> Result<[SocketAddrV4; 2]> {
    let published = victim.published();
    let at = |index: usize| {
        let text = published.get(index).and_then(|text| text.rsplit_once(':'));
        let (host, _) = text.unwrap_or_default();
        host.parse()
    };
    Ok([at(0)?, at(1)?])
}

fn all(victim: &Victim, guest: &mut Guest, flows: u16) -> Result<String> {
    let did = [
        established(victim, guest, flows)?,
        datagrams(victim, guest, flows)?,
        questions(victim, guest, flows)?,
        garbage(victim, guest, flows)?,
    ];
    guest.await_ping()?;
    Ok(did.join(", "))
}

fn ports(flows: u16) -> std::ops::Range<u16> {
    FIRST_PORT..FIRST_PORT + flows
}

/// A generator with the same numbers in every run (xorshift32).
struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next()).unwrap_or_default() % limit
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}
