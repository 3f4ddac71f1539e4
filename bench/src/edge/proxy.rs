use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread;

use anyhow::{Context as _, Result};
use msb_secrets::{Secret, SecretName, SecretValue};
use msb_tls_edge::{Authority, Edge, EdgeEvent, EdgeSettings, Events, Roots};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::{TcpListener, TcpStream};

use super::upstream::Upstream;

/// The host whose TLS is ended.
pub(super) const ENDED: &str = "api.bench.example";
/// A host of the same server, whose TLS is passed on.
pub(super) const PASSED: &str = "www.bench.example";
/// The port of both names.
const PORT: u16 = 443;

/// The end of TLS in front of a server, with one thread.
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    /// The configuration of a client that trusts the server and the proxy.
    pub(super) client: Arc<ClientConfig>,
    /// The text that stands for the secret.
    pub(super) placeholder: String,
    thread: i32,
}

/// The log of no one.
struct Unlogged;

impl Events for Unlogged {
    fn event(&self, _: EdgeEvent) {}
}

impl Proxy {
    /// Starts the proxy in front of a server with both names. It serves until this program ends.
    pub(super) fn start(upstream: &Upstream) -> Result<Self> {
        let mut secret: Secret = format!("KEY@{ENDED}").parse()?;
        secret.draw_placeholder()?;
        let placeholder = secret.placeholder.clone().context("no placeholder")?;
        let name: SecretName = secret.name.clone();
        let authority = Authority::create(&[ENDED.parse()?])?;
        let client = client(&[&upstream.authority, authority.certificate_pem()])?;
        let settings = EdgeSettings {
            secrets: vec![secret],
            requests: Vec::new(),
        };
        let edge = Edge::new(settings, authority, Roots::from_pem(&upstream.authority)?)?;
        let value = SecretValue::new("the-value-of-a-secret-of-msb-bench-0123456789")?;
        edge.values().set(&name, value, None)?;
        let (sender, started) = mpsc::channel();
        let server = upstream.address;
        thread::spawn(move || {
            let thread = rustix::thread::gettid().as_raw_nonzero().get();
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async move {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
                // Without a receiver nothing is measured.
                let _ = sender.send((listener.local_addr()?, thread));
                serve(listener, Arc::new(edge), server).await
            })
        });
        let (address, thread) = started.recv().context("the proxy does not start")?;
        Ok(Self {
            address,
            client,
            placeholder: placeholder.to_string(),
            thread,
        })
    }

    /// Returns the processor time that the proxy has used, in seconds.
    pub(super) fn cpu_s(&self) -> Result<f64> {
        let path = format!("/proc/self/task/{}/schedstat", self.thread);
        let text = std::fs::read_to_string(&path).with_context(|| path.clone())?;
        let nanoseconds: f64 = text.split(' ').next().context("no time")?.trim().parse()?;
        Ok(nanoseconds / 1e9)
    }
}

async fn serve(listener: TcpListener, edge: Arc<Edge>, server: SocketAddr) -> Result<()> {
    loop {
        let (guest, _) = listener.accept().await?;
        guest.set_nodelay(true)?;
        let edge = Arc::clone(&edge);
        tokio::spawn(async move {
            let dial = move |_: Option<String>| TcpStream::connect(server);
            edge.serve(guest, PORT, dial, true, &Unlogged).await
        });
    }
}

fn client(authorities: &[&str]) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(CertificateDer::from_pem_slice(authority.as_bytes())?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    // Each connection is to be a new one.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}
