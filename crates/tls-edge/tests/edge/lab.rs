//! The edge between a guest and an upstream.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use msb_secrets::{HttpsDestination, Secret, SecretName, SecretValue};
use msb_tls_edge::{Authority, Edge, EdgeEvent, EdgeSettings, Events, HttpRecord, Roots, Served};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::DuplexStream;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::guest::Guest;
use crate::upstream::{Handler, HostAuthority, Upstream, provider};

/// The host of the secret.
pub(crate) const HOST: &str = "api.example.com";
/// The value of the secret.
pub(crate) const VALUE: &str = "v4lue+0123456789/abcdef";

/// Waits for something that has to happen.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    let waited = timeout(Duration::from_secs(60), future).await;
    waited.expect("it happens within a minute")
}

/// The events of all connections.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<Vec<EdgeEvent>>);

impl Events for Log {
    fn event(&self, event: EdgeEvent) {
        self.0.lock().unwrap().push(event);
    }
}

impl Log {
    pub(crate) fn all(&self) -> Vec<EdgeEvent> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn http(&self) -> Vec<HttpRecord> {
        let records = self.all().into_iter().filter_map(|event| match event {
            EdgeEvent::Http(http) => Some(http),
            _ => None,
        });
        records.collect()
    }

    /// Returns the number of answers that were withheld because they held the value.
    pub(crate) fn reflected(&self) -> usize {
        let is_it = |event: &&EdgeEvent| matches!(event, EdgeEvent::SecretReflected { .. });
        self.all().iter().filter(is_it).count()
    }
}

/// An edge with the secret `K`, between guests and one upstream.
pub(crate) struct Lab {
    pub(crate) edge: Arc<Edge>,
    pub(crate) log: Arc<Log>,
    pub(crate) upstream: Upstream,
    /// The placeholder of the secret.
    pub(crate) token: String,
    pub(crate) passes: bool,
    guest_roots: Arc<RootCertStore>,
}

impl Lab {
    /// Returns a lab whose upstream proves the name of the secret's host, and answers requests.
    pub(crate) async fn new(handler: Handler) -> Self {
        let authority = HostAuthority::new();
        let config = authority.config(&[HOST], &["h2", "http/1.1"]);
        let upstream = Upstream::http(config, handler).await;
        Self::with(upstream, &authority, &format!("K@{HOST}"), &[])
    }

    /// Returns a lab with an upstream, the authority that the edge trusts, a secret, and rules.
    pub(crate) fn with(
        upstream: Upstream,
        trusted: &HostAuthority,
        secret: &str,
        rules: &[&str],
    ) -> Self {
        let mut secret: Secret = secret.parse().unwrap();
        secret.draw_placeholder().unwrap();
        let token = secret.placeholder.clone().unwrap().to_string();
        let requests: Vec<HttpsDestination> =
            rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let hosts: Vec<_> = secret
            .to
            .iter()
            .chain(&requests)
            .map(|to| to.host.clone())
            .collect();
        let authority = Authority::create(&hosts).unwrap();
        let mut guest_roots = RootCertStore::empty();
        let pem = authority.certificate_pem().as_bytes();
        guest_roots
            .add(CertificateDer::from_pem_slice(pem).unwrap())
            .unwrap();
        let settings = EdgeSettings {
            secrets: vec![secret],
            requests,
        };
        let roots = Roots::from_pem(&trusted.pem()).unwrap();
        let lab = Self {
            edge: Arc::new(Edge::new(settings, authority, roots).unwrap()),
            log: Arc::default(),
            upstream,
            token,
            passes: false,
            guest_roots: Arc::new(guest_roots),
        };
        lab.set_value(VALUE);
        lab
    }

    /// Gives the secret a value.
    pub(crate) fn set_value(&self, value: &str) {
        let value = SecretValue::new(value).unwrap();
        self.edge.values().set(&key(), value, None).unwrap();
    }

    /// Returns the guest's side of a new connection, and its outcome.
    pub(crate) fn open(&self) -> (DuplexStream, JoinHandle<Served>) {
        self.open_to(self.upstream.address)
    }

    fn open_to(&self, address: SocketAddr) -> (DuplexStream, JoinHandle<Served>) {
        let (guest, side) = tokio::io::duplex(64 * 1024);
        let (edge, log, passes) = (Arc::clone(&self.edge), Arc::clone(&self.log), self.passes);
        let served = tokio::spawn(async move {
            let dial = move |_: Option<String>| TcpStream::connect(address);
            edge.serve(side, 443, dial, passes, &*log).await
        });
        (guest, served)
    }

    /// Does the guest's handshake for the secret's host.
    pub(crate) async fn tls(&self, protocols: &[&str]) -> io::Result<Tls> {
        self.tls_with(Arc::clone(&self.guest_roots), HOST, protocols)
            .await
    }

    /// Does the guest's handshake for a name, with roots of its own.
    pub(crate) async fn tls_with(
        &self,
        roots: Arc<RootCertStore>,
        name: &str,
        protocols: &[&str],
    ) -> io::Result<Tls> {
        let (guest, served) = self.open();
        let stream = within(connector(roots, protocols).connect(server_name(name), guest)).await?;
        Ok(Tls { stream, served })
    }

    /// Returns a guest that speaks HTTP/1.1.
    pub(crate) async fn http1(&self) -> Guest {
        Guest::http1(self.tls(&["http/1.1"]).await.unwrap()).await
    }

    /// Returns a guest that speaks HTTP/2.
    pub(crate) async fn http2(&self) -> Guest {
        Guest::http2(self.tls(&["h2", "http/1.1"]).await.unwrap()).await
    }

    /// Returns a guest of each version of HTTP.
    pub(crate) async fn guests(&self) -> [Guest; 2] {
        [self.http1().await, self.http2().await]
    }
}

/// A guest's connection after the handshake.
pub(crate) struct Tls {
    pub(crate) stream: TlsStream<DuplexStream>,
    pub(crate) served: JoinHandle<Served>,
}

/// Returns the name of the secret.
pub(crate) fn key() -> SecretName {
    "K".parse().unwrap()
}

pub(crate) fn server_name(name: &str) -> ServerName<'static> {
    ServerName::try_from(name.to_owned()).unwrap()
}

/// Returns a TLS client that trusts these roots and offers these protocols.
pub(crate) fn connector(roots: Arc<RootCertStore>, protocols: &[&str]) -> TlsConnector {
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    TlsConnector::from(Arc::new(config))
}
