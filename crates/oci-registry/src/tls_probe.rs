//! Detection of TLS at an address.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Timeout for the response, which comes from this host.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// Types of the records that answer a ClientHello: alert and handshake (RFC 8446, section 5.1).
const ANSWERS: [u8; 2] = [21, 22];

/// Returns true if the server at `host`, which may include a port, answers TLS. The probe closes
/// its side of the connection, because a server that reads lines would otherwise wait for the end
/// of one.
pub(super) async fn speaks_tls(host: &str) -> bool {
    let probe = tokio::time::timeout(PROBE_TIMEOUT, first_byte(host));
    matches!(probe.await, Ok(Ok(byte)) if ANSWERS.contains(&byte))
}

async fn first_byte(host: &str) -> io::Result<u8> {
    let url = Url::parse(&format!("https://{host}/")).map_err(io::Error::other)?;
    let name = url.host_str().unwrap_or_default();
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let greeting = greeting(name)?;
    let port = url.port_or_known_default().unwrap_or(443);
    let mut stream = TcpStream::connect((name, port)).await?;
    stream.write_all(&greeting).await?;
    stream.shutdown().await?;
    stream.read_u8().await
}

/// Returns a ClientHello.
fn greeting(name: &str) -> io::Result<Vec<u8>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).map_err(io::Error::other)?;
    let mut client = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    let mut greeting = Vec::new();
    while client.wants_write() {
        client.write_tls(&mut greeting)?;
    }
    Ok(greeting)
}
