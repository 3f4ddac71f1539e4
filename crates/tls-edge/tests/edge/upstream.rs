//! TLS servers on the loopback interface, with an authority that the edge trusts or does not.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::crypto::{CryptoProvider, ring};
use rustls::{RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A body that both sides of these tests send.
pub(crate) type TestBody = UnsyncBoxBody<Bytes, io::Error>;

/// An answer on its way.
type Answer = Pin<Box<dyn Future<Output = Response<TestBody>> + Send>>;

/// The answers of an upstream.
pub(crate) type Handler = Arc<dyn Fn(Request<Incoming>) -> Answer + Send + Sync>;

/// Returns a handler of a function.
pub(crate) fn handler<F, A>(answer: F) -> Handler
where
    F: Fn(Request<Incoming>) -> A + Send + Sync + 'static,
    A: Future<Output = Response<TestBody>> + Send + 'static,
{
    Arc::new(move |request| -> Answer { Box::pin(answer(request)) })
}

/// Returns a handler whose answer is `ok`.
pub(crate) fn ok() -> Handler {
    handler(|_| async { Response::new(full("ok")) })
}

/// Returns a body of a text.
pub(crate) fn full(text: impl Into<Bytes>) -> TestBody {
    let body = Full::new(text.into());
    body.map_err(|never| match never {}).boxed_unsync()
}

/// Returns a body of frames that are sent one by one.
pub(crate) fn frames() -> (mpsc::Sender<Frame<Bytes>>, TestBody) {
    let (sender, receiver) = mpsc::channel(1);
    (sender, FrameBody(receiver).boxed_unsync())
}

struct FrameBody(mpsc::Receiver<Frame<Bytes>>);

impl Body for FrameBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0.poll_recv(context).map(|frame| frame.map(Ok))
    }
}

/// The number of authorities so far.
static AUTHORITIES: AtomicUsize = AtomicUsize::new(0);

/// A certificate authority of hosts.
pub(crate) struct HostAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl HostAuthority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Verifiers know an authority by its name.
        let name = format!("authority {}", AUTHORITIES.fetch_add(1, Ordering::Relaxed));
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        Self { issuer }
    }

    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    pub(crate) fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).unwrap();
        Arc::new(roots)
    }

    /// Returns the configuration of a server with these names, which speaks these protocols.
    pub(crate) fn config(&self, names: &[&str], protocols: &[&str]) -> Arc<ServerConfig> {
        self.config_of(self.params(names), protocols, 1)
    }

    /// Does the same, with a chain that has the server's certificate so often.
    pub(crate) fn repeated(&self, names: &[&str], times: usize) -> Arc<ServerConfig> {
        self.config_of(self.params(names), &["http/1.1"], times)
    }

    /// Returns the configuration of a server whose certificate has expired.
    pub(crate) fn expired(&self, names: &[&str]) -> Arc<ServerConfig> {
        let mut params = self.params(names);
        params.not_after = rcgen::date_time_ymd(2001, 1, 1);
        self.config_of(params, &["http/1.1"], 1)
    }

    fn params(&self, names: &[&str]) -> CertificateParams {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        CertificateParams::new(names).unwrap()
    }

    fn config_of(
        &self,
        params: CertificateParams,
        protocols: &[&str],
        times: usize,
    ) -> Arc<ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = key.serialize_der().try_into().unwrap();
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone(); times], key)
            .unwrap();
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        Arc::new(config)
    }
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The head of a request that arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) uri: String,
    pub(crate) headers: HeaderMap,
}

/// A TLS server.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    handshakes: Arc<AtomicUsize>,
}

impl Upstream {
    /// Starts a server of HTTP/1.1 or HTTP/2, as the handshake decides.
    pub(crate) async fn http(config: Arc<ServerConfig>, handler: Handler) -> Self {
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let of_server = Arc::clone(&seen);
        let mut upstream = Self::raw(config, move |stream| {
            serve_http(stream, Arc::clone(&handler), Arc::clone(&of_server))
        })
        .await;
        upstream.seen = seen;
        upstream
    }

    /// Starts a server that does what a function does with each connection after its handshake.
    pub(crate) async fn raw<F, A>(config: Arc<ServerConfig>, serve: F) -> Self
    where
        F: Fn(TlsStream<TcpStream>) -> A + Send + Sync + 'static,
        A: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let handshakes = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&handshakes);
        let serve = Arc::new(serve);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let acceptor = TlsAcceptor::from(Arc::clone(&config));
                let (serve, counter) = (Arc::clone(&serve), Arc::clone(&counter));
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(socket).await {
                        counter.fetch_add(1, Ordering::Relaxed);
                        serve(stream).await;
                    }
                });
            }
        });
        Self {
            address,
            seen: Arc::default(),
            handshakes,
        }
    }

    /// Returns the heads of the requests that arrived.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Returns the only request that arrived.
    pub(crate) fn only(&self) -> Seen {
        let seen = self.seen();
        let [only] = seen.as_slice() else {
            panic!("{seen:?}");
        };
        only.clone()
    }

    /// Returns the number of complete handshakes.
    pub(crate) fn handshakes(&self) -> usize {
        self.handshakes.load(Ordering::Relaxed)
    }
}

impl Seen {
    /// Returns the only value of a header.
    pub(crate) fn header(&self, name: &str) -> &str {
        let values: Vec<_> = self.headers.get_all(name).iter().collect();
        let [value] = values.as_slice() else {
            panic!("{name}: {:?}", self.headers);
        };
        value.to_str().unwrap()
    }
}

async fn serve_http(stream: TlsStream<TcpStream>, handler: Handler, seen: Arc<Mutex<Vec<Seen>>>) {
    let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2".as_slice());
    let service = service_fn(move |request: Request<Incoming>| {
        seen.lock().unwrap().push(Seen {
            method: request.method().to_string(),
            uri: request.uri().to_string(),
            headers: request.headers().clone(),
        });
        let answer = handler(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let io = TokioIo::new(stream);
    // A connection that the other side breaks off is no failure of a test.
    let _ = if is_h2 {
        let builder = http2::Builder::new(TokioExecutor::new());
        builder.serve_connection(io, service).await
    } else {
        let connection = http1::Builder::new().serve_connection(io, service);
        connection.with_upgrades().await
    };
}
