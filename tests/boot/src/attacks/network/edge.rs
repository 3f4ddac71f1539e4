//! Attacks on the end of TLS: of a guest by its hellos, and of a server that is not the secret's.

use std::net::SocketAddrV4;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use msb_tls_edge::Authority;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use serde_json::{Value, json};

use super::floods::{DNS, FIRST_PORT, Flood, SEGMENT_BYTES, keep};
use super::guest::{GATEWAY, Guest, datagram, syn};
use super::hosts::{Silent, Source};
use super::victim::Victim;
use crate::tls_upstream;

/// The host of the secret.
const HOST: &str = "api.secrets.example";
/// The query for the address of [`HOST`].
const QUESTION: &[u8] =
    b"\x13\x57\x01\0\0\x01\0\0\0\0\0\0\x03api\x07secrets\x07example\0\0\x01\0\x01";
/// The guest's port that it queries from.
const QUERY_PORT: u16 = 5300;
/// The longest hello that is read, in bytes.
const HELLO_MAX_BYTES: usize = 16 << 10;
/// The largest number of connections whose TLS is ended.
const CONNECTIONS_MAX: usize = 1_008;
/// The time that connections get to be established, and a resolver to answer.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) const EDGE_FLOODS: &[Flood] = &[
    Flood {
        name: "TLS hellos that stop after a byte",
        settings: silent_server,
        run: begun,
    },
    Flood {
        name: "TLS hellos, of which one in eight stops after a byte",
        settings: silent_server,
        run: mixed,
    },
    Flood {
        name: "TLS hellos of the greatest length, which are none",
        settings: silent_server,
        run: long,
    },
    Flood {
        name: "handshakes with a server that is silent",
        settings: silent_server,
        run: greeted,
    },
    Flood {
        name: "handshakes with a server that sends no TLS",
        settings: babbling_server,
        run: greeted,
    },
];

/// Writes the authority of a victim's secrets into its directory.
pub(super) fn write_authority(directory: &Path) -> Result<()> {
    let authority = Authority::create(&[HOST.parse()?])?;
    fs::write(directory.join("ca.pem"), authority.certificate_pem())?;
    Ok(fs::write(
        directory.join("ca.key"),
        authority.key_pem().as_bytes(),
    )?)
}

/// Returns the settings of a sandbox with a secret for [`HOST`] at a port of this host's loopback.
fn settings(server: SocketAddrV4) -> Result<Value> {
    let port = server.port();
    Ok(json!({
        "reach": "listed",
        "allow": [format!("127.0.0.1:{port}")],
        "resolvers": [tls_upstream::resolver()?],
        "secrets": [{
            "name": "KEY",
            "to": [format!("{HOST}:{port}")],
            "from": "env:KEY",
            "placeholder": format!("msb-secret-{}", "0".repeat(40)),
        }],
    }))
}

fn silent_server() -> Result<Value> {
    settings(keep(Silent::listen()?).at()?)
}

fn babbling_server() -> Result<Value> {
    settings(keep(Source::serve()?).at())
}

/// Resolves the host of the secret, connects to its server, and returns the ports of the connections that came about.
fn connect(victim: &Victim, guest: &mut Guest, flows: u16) -> Result<(SocketAddrV4, Vec<u16>)> {
    let to = victim.settings["secrets"][0]["to"][0].as_str();
    let port = to
        .and_then(|to| to.rsplit_once(':'))
        .context("no destination")?
        .1;
    let to = SocketAddrV4::new(GATEWAY, port.parse()?);
    guest.send(&datagram(QUERY_PORT, DNS, QUESTION))?;
    guest.take_for(PAUSE)?;
    for port in FIRST_PORT..FIRST_PORT + flows {
        guest.send(&syn(port, to))?;
    }
    guest.take_for(PAUSE)?;
    let ports = guest.established.keys().filter(|(_, peer)| *peer == to);
    let ports: Vec<u16> = ports.map(|(port, _)| *port).collect();
    // More are not accepted, and so cost nothing.
    ensure!(
        !ports.is_empty() && ports.len() <= CONNECTIONS_MAX,
        "{} connections",
        ports.len()
    );
    Ok((to, ports))
}

/// Sends the first byte of a handshake on each connection, and no more.
fn begun(victim: &Victim, guest: &mut Guest, flows: u16) -> Result<String> {
    let (to, ports) = connect(victim, guest, flows)?;
    for port in &ports {
        guest.push(*port, to, 0, b"\x16")?;
    }
    Ok(format!("{} connections", ports.len()))
}

/// Sends the first byte of a hello on one connection in eight, and a whole one on the others: both kinds hold their places.
fn mixed(victim: &Victim, guest: &mut Guest, flows: u16) -> Result<String> {
    let (to, ports) = connect(victim, guest, flows)?;
    let bytes = hello()?;
    for (index, port) in ports.iter().enumerate() {
        let whole = bytes.as_slice();
        let sent = if index.is_multiple_of(8) {
            whole.get(..1).unwrap_or_default()
        } else {
            whole
        };
        send(guest, to, &[*port], sent)?;
    }
    guest.await_ping()?;
    Ok(format!("{} connections", ports.len()))
}

/// Sends the begin of a record of the greatest length, and twice its bytes.
fn long(victim: &Victim, guest: &mut Guest, flows: u16) -> Result<String> {
    let (to, ports) = connect(victim, guest, flows)?;
    // A handshake's record, and a hello that is longer than it.
    let mut bytes = b"\x16\x03\x01\x40\x00\x01\x00\xff\xff\x03\x03".to_vec();
    bytes.resize(2 * HELLO_MAX_BYTES, 0);
    send(guest, to, &ports, &bytes)?;
    Ok(format!("{} connections", ports.len()))
}

/// Sends a whole hello for the secret's host on each connection, and then what is no TLS.
fn greeted(victim: &Victim, guest: &mut Guest, flows: u16) -> Result<String> {
    let (to, ports) = connect(victim, guest, flows)?;
    let mut bytes = hello()?;
    send(guest, to, &ports, &bytes)?;
    guest.await_ping()?;
    // The handshakes are under way, and their queues fill.
    bytes.resize(64 << 10, 0xff);
    send(guest, to, &ports, &bytes)?;
    Ok(format!("{} connections", ports.len()))
}

/// Sends the same bytes on each connection, from its begin.
fn send(guest: &mut Guest, to: SocketAddrV4, ports: &[u16], bytes: &[u8]) -> Result<()> {
    for port in ports {
        for (index, part) in bytes.chunks(SEGMENT_BYTES).enumerate() {
            guest.push(*port, to, index * SEGMENT_BYTES, part)?;
        }
    }
    Ok(())
}

/// Returns the bytes of a hello for the secret's host.
fn hello() -> Result<Vec<u8>> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from(HOST)?;
    let mut connection = ClientConnection::new(Arc::new(config), name)?;
    let mut bytes = Vec::new();
    while connection.wants_write() {
        connection.write_tls(&mut bytes)?;
    }
    Ok(bytes)
}
