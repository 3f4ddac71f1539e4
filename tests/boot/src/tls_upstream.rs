//! TLS servers on this host's loopback that keep the requests they get, and a resolver that leads guests to them.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fs_err as fs;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::checks::network::resolver_to;

/// The address of the gateway in every sandbox, which leads to this host's loopback.
const GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 1);
/// The longest head of a request, in bytes.
const HEAD_MAX_BYTES: usize = 64 << 10;
/// The name of a branch in the repository that the server shows.
const BRANCH: &str = "refs/heads/behind-a-secret";

/// An authority that this host trusts, because `SSL_CERT_FILE` names it.
pub(crate) struct HostAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    path: PathBuf,
}

impl HostAuthority {
    /// Makes an authority whose certificate is a file in this directory.
    pub(crate) fn new(directory: &Path) -> Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = name("an authority of the checks");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let path = directory.join("host-ca.pem");
        fs::write(&path, issuer.pem())?;
        Ok(Self { issuer, path })
    }

    /// Makes a command of msb trust this authority and no other one.
    pub(crate) fn trusted(&self, mut line: Command) -> Command {
        line.env("SSL_CERT_FILE", &self.path)
            .env_remove("SSL_CERT_DIR");
        line
    }

    /// Returns the configuration of a server with these names, all of which it proves.
    fn config(&self, names: &[&str]) -> Result<Arc<ServerConfig>> {
        let texts: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(texts)?;
        // Equal names of issuer and subject would be those of a certificate that signs itself.
        params.distinguished_name = name("a server of the checks");
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        let key = PrivateKeyDer::try_from(key.serialize_der());
        let key = key.map_err(|reason| anyhow::anyhow!("the key of a server: {reason}"))?;
        server_config(certificate.der().clone(), key)
    }
}

fn server_config(
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>> {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    Ok(Arc::new(config))
}

fn name(text: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, text);
    name
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The number of the connection, from 0.
    pub(crate) connection: usize,
    /// The request line and the headers.
    pub(crate) head: String,
}

impl Seen {
    /// Returns the value of a header; `None` if the request has none of this name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1);
        lines.find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// Returns the text of a Basic credential: the user, a colon and the password.
    pub(crate) fn basic(&self) -> Option<String> {
        let credential = self.header("authorization")?.strip_prefix("Basic ")?;
        String::from_utf8(BASE64_STANDARD.decode(credential).ok()?).ok()
    }

    /// Returns the target of the request line.
    pub(crate) fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }
}

/// A TLS server on this host's loopback.
pub(crate) struct Upstream {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Upstream {
    /// Starts a server that proves these names. It ends with this program.
    pub(crate) fn start(authority: &HostAuthority, names: &[&str]) -> Result<Self> {
        Self::serving(authority.config(names)?)
    }

    /// Starts a server with a certificate and a key in files of PEM.
    pub(crate) fn with_files(certificate: &Path, key: &Path) -> Result<Self> {
        let certificate = CertificateDer::from_pem_slice(&fs::read(certificate)?)?;
        let key = PrivateKeyDer::from_pem_slice(&fs::read(key)?)?;
        Self::serving(server_config(certificate, key)?)
    }

    fn serving(config: Arc<ServerConfig>) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let of_server = Arc::clone(&seen);
        thread::spawn(move || {
            for (connection, stream) in listener.incoming().flatten().enumerate() {
                let (config, seen) = (Arc::clone(&config), Arc::clone(&of_server));
                // A connection that the other side breaks off is no failure of a check.
                thread::spawn(move || serve(stream, config, connection, &seen));
            }
        });
        Ok(Self { port, seen })
    }

    /// Returns the requests that arrived.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the last request with this target.
    pub(crate) fn last(&self, target: &str) -> Result<Seen> {
        let seen = self.seen();
        let last = seen.iter().rev().find(|seen| seen.target() == target);
        last.cloned()
            .with_context(|| format!("no request for {target}: {seen:?}"))
    }
}

/// Starts a resolver that leads every name to this host's loopback.
pub(crate) fn resolver() -> Result<SocketAddr> {
    resolver_to(GATEWAY)
}

type Stream = StreamOwned<ServerConnection, TcpStream>;

/// Answers the requests of a connection, one after the other.
fn serve(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    connection: usize,
    seen: &Mutex<Vec<Seen>>,
) -> Result<()> {
    let mut stream = StreamOwned::new(ServerConnection::new(config)?, stream);
    while let Some(head) = read_head(&mut stream)? {
        let request = Seen { connection, head };
        let length: u64 = request.header("content-length").unwrap_or("0").parse()?;
        std::io::copy(&mut (&mut stream).take(length), &mut std::io::sink())?;
        let parts = answer(&request);
        // A guest that has an answer is to find its request here.
        seen.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(request);
        for part in parts {
            stream.write_all(&part)?;
            stream.flush()?;
        }
    }
    Ok(())
}

/// Reads the head of a request; `None` at the end of the connection.
fn read_head(stream: &mut Stream) -> Result<Option<String>> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_MAX_BYTES {
        if stream.read(&mut byte)? == 0 {
            return Ok(None);
        }
        head.extend_from_slice(&byte);
    }
    Ok(Some(String::from_utf8(head)?))
}

/// Returns the answer that a request's path asks for, in the parts in which it is written.
fn answer(request: &Seen) -> Vec<Vec<u8>> {
    let target = request.target();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let authorization = request.header("authorization");
    match path {
        "/echo" => vec![whole("200 OK", "", &request.head)],
        // Each byte is a write of its own.
        "/dripped" => {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
                request.head.len()
            );
            let mut parts = vec![head.into_bytes()];
            parts.extend(request.head.bytes().map(|byte| vec![byte]));
            parts
        }
        "/in-header" => {
            let more = format!("X-Seen: {}\r\n", authorization.unwrap_or("nothing"));
            vec![whole("200 OK", &more, "in a header\n")]
        }
        "/decoded" => {
            let text = request.basic().unwrap_or_default();
            vec![whole("200 OK", "", &text)]
        }
        "/redirect" => {
            let more = format!("Location: https://{query}/landed\r\n");
            vec![whole("302 Found", &more, "elsewhere\n")]
        }
        "/repository/info/refs" if authorization.is_none() => {
            let more = "WWW-Authenticate: Basic realm=\"checks\"\r\n";
            vec![whole("401 Unauthorized", more, "")]
        }
        "/repository/info/refs" => {
            let refs = format!("{}\t{BRANCH}\n", "1".repeat(40));
            vec![whole("200 OK", "Content-Type: text/plain\r\n", &refs)]
        }
        _ => vec![whole("200 OK", "", "good\n")],
    }
}

fn whole(status: &str, more: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{more}Content-Length: {length}\r\n\r\n{body}").into_bytes()
}
