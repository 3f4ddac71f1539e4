use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
};
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The bytes of one write.
const PIECE_BYTES: usize = 64 << 10;
/// The longest head of a request, in bytes.
const HEAD_MAX_BYTES: usize = 16 << 10;

/// A TLS server on the loopback interface. The path of a request is the length of its answer.
pub(super) struct Upstream {
    pub(super) address: SocketAddr,
    /// The certificate of its authority, as PEM.
    pub(super) authority: String,
}

impl Upstream {
    /// Starts a server with these names, which speaks HTTP/1.1. It serves until this program ends.
    pub(super) fn start(names: &[&str]) -> Result<Self> {
        let (config, authority) = config(names)?;
        let config = Arc::new(config);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let config = Arc::clone(&config);
                // A client that is done closes its connection.
                thread::spawn(move || serve(stream, config));
            }
        });
        Ok(Self { address, authority })
    }
}

/// Returns the configuration of a server with these names, and its authority's certificate.
pub(super) fn config(names: &[&str]) -> Result<(ServerConfig, String)> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name = name("an authority of msb bench");
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let texts: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(texts)?;
    params.distinguished_name = name("a server of msb bench");
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    Ok((config, issuer.pem()))
}

fn name(text: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, text);
    name
}

fn serve(stream: TcpStream, config: Arc<ServerConfig>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = StreamOwned::new(ServerConnection::new(config)?, stream);
    let piece = vec![b'.'; PIECE_BYTES];
    loop {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_MAX_BYTES {
            if stream.read(&mut byte)? == 0 {
                return Ok(());
            }
            head.extend_from_slice(&byte);
        }
        let head = String::from_utf8(head)?;
        let path = head.split(' ').nth(1).context("no path")?;
        let length: usize = path.trim_start_matches('/').parse()?;
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"
        )?;
        let mut left = length;
        while left > 0 {
            let part = piece.get(..left.min(PIECE_BYTES)).unwrap_or(&piece);
            stream.write_all(part)?;
            left -= part.len();
        }
        stream.flush()?;
    }
}
