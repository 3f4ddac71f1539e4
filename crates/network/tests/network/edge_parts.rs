//! A network that ends the TLS of one host, and the host.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;

use msb_network::{EdgeParts, GATEWAY_ADDRESS, Settings, UpstreamProxy};
use msb_secrets::{HttpsDestination, Secret};
use msb_tls_edge::{Authority, Edge, Roots};
use rcgen::{CertifiedKey, KeyPair};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};
use smoltcp::socket::tcp::State;

use crate::guest::{Guest, Host};
use crate::names::resolver_to;

/// The name of the host.
pub(crate) const HOST: &str = "api.test";
/// The protocol that both sides of a connection offer.
const ALPN: &[u8] = b"http/1.1";

/// The host's end of a connection.
pub(crate) type HostStream = StreamOwned<ServerConnection, TcpStream>;
/// The host's part in a connection: it returns the head of the request, or `None` if it got none.
pub(crate) type Answer = fn(HostStream) -> Option<String>;

/// A network with an edge, and the host whose TLS it ends.
pub(crate) struct Ended {
    pub(crate) host: Host,
    /// The address of the host as the guest sees it.
    pub(crate) at: SocketAddrV4,
    /// The placeholder of the secret `KEY`, which is for the host.
    pub(crate) placeholder: String,
    /// The path of the control socket.
    pub(crate) control: PathBuf,
    /// The names that the guest has asked for.
    pub(crate) questions: mpsc::Receiver<String>,
    /// The requests that the host got.
    pub(crate) requests: mpsc::Receiver<String>,
    authority: String,
    _directory: tempfile::TempDir,
}

impl Ended {
    /// Starts a network that ends the TLS of [`HOST`] for a secret, and for requests of this path
    /// and method. The host is a server on this machine.
    pub(crate) fn new(path_of_requests: Option<&str>) -> Self {
        Self::answering(path_of_requests, answer)
    }

    /// Does the same with a host that answers in another way than with `ok`.
    pub(crate) fn answering(path_of_requests: Option<&str>, answer: Answer) -> Self {
        Self::at(GATEWAY_ADDRESS, None, path_of_requests, answer)
    }

    /// Does the same with a host at another address, which a proxy leads to.
    pub(crate) fn at(
        address: Ipv4Addr,
        upstream_proxy: Option<UpstreamProxy>,
        path_of_requests: Option<&str>,
        answer: Answer,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let destination = |path: &str| -> HttpsDestination {
            format!("https://{HOST}:{port}{path}").parse().unwrap()
        };
        let mut secret = Secret::new("KEY".parse().unwrap(), vec![destination("")]);
        secret.draw_placeholder().unwrap();
        let placeholder = secret.placeholder.as_ref().unwrap().to_string();
        let mut settings = Settings {
            allow: vec![format!("127.0.0.1:{port}").parse().unwrap()],
            secrets: vec![secret],
            requests: path_of_requests.into_iter().map(destination).collect(),
            upstream_proxy,
            ..Settings::default()
        };
        let questions = resolver_to(address, &mut settings);
        let server = rcgen::generate_simple_self_signed([HOST.to_owned()]).unwrap();
        let authority = Authority::create(&[HOST.parse().unwrap()]).unwrap();
        let trusted = authority.certificate_pem().to_owned();
        let roots = Roots::from_pem(&server.cert.pem()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let control = directory.path().join("secrets.sock");
        let parts = EdgeParts {
            edge: Edge::new(settings.edge(), authority, roots).unwrap(),
            control: Some(UnixListener::bind(&control).unwrap()),
        };
        Self {
            host: Host::with_edge(settings, Some(parts)),
            at: SocketAddrV4::new(address, port),
            placeholder,
            control,
            questions,
            requests: serve(listener, &server, answer),
            authority: trusted,
            _directory: directory,
        }
    }

    /// Returns a TLS client that trusts the sandbox's authority.
    pub(crate) fn client(&self) -> ClientConnection {
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(self.authority.as_bytes());
        roots.add(certificate.unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap();
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![ALPN.to_vec()];
        ClientConnection::new(Arc::new(config), HOST.try_into().unwrap()).unwrap()
    }
}

/// Answers each connection's first request, and reports the request's head.
fn serve(
    listener: TcpListener,
    server: &CertifiedKey<KeyPair>,
    answer: Answer,
) -> mpsc::Receiver<String> {
    let key = PrivatePkcs8KeyDer::from(server.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth();
    let certificates = vec![server.cert.der().clone()];
    let mut config = config.with_single_cert(certificates, key.into()).unwrap();
    config.alpn_protocols = vec![ALPN.to_vec()];
    let config = Arc::new(config);
    let (sender, requests) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            if let Some(head) = answer(StreamOwned::new(tls, stream.unwrap()))
                && sender.send(head).is_err()
            {
                return;
            }
        }
    });
    requests
}

/// Answers one request with `ok`.
pub(crate) fn answer(mut stream: HostStream) -> Option<String> {
    let head = read_head(&mut stream)?;
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
    stream.write_all(answer).unwrap();
    stream.conn.send_close_notify();
    stream.flush().unwrap();
    Some(head)
}

/// Reads up to the end of a head, and maybe more. `None` if the connection ends before.
pub(crate) fn read_head(stream: &mut HostStream) -> Option<String> {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(length @ 1..) => head.extend_from_slice(&buffer[..length]),
            Ok(_) | Err(_) => return None,
        }
    }
    Some(String::from_utf8(head).unwrap())
}

/// Sends a request of the guest over TLS. Returns the answer once `is_complete` holds for it.
pub(crate) fn exchange(
    guest: &mut Guest<'_>,
    tls: &mut ClientConnection,
    request: &str,
    is_complete: impl Fn(&str) -> bool,
) -> String {
    let is_complete = |answer: &str, _: State| is_complete(answer);
    converse(guest, tls, request, is_complete).0
}

/// Sends a request of the guest over TLS. Returns the answer once the connection has ended, and true if it ended in an
/// orderly way.
pub(crate) fn exchange_all(
    guest: &mut Guest<'_>,
    tls: &mut ClientConnection,
    request: &str,
) -> (String, bool) {
    let has_ended = |_: &str, state: State| matches!(state, State::CloseWait | State::Closed);
    let (answer, state) = converse(guest, tls, request, has_ended);
    (answer, state == State::CloseWait)
}

fn converse(
    guest: &mut Guest<'_>,
    tls: &mut ClientConnection,
    request: &str,
    is_complete: impl Fn(&str, State) -> bool,
) -> (String, State) {
    // A request of any length is taken at once.
    tls.set_buffer_limit(None);
    tls.writer().write_all(request.as_bytes()).unwrap();
    let (mut sending, mut answer) = (Vec::new(), String::new());
    guest.drive("an answer", |socket| {
        while tls.wants_write() {
            tls.write_tls(&mut sending).unwrap();
        }
        if socket.can_send() && !sending.is_empty() {
            let length = socket.send_slice(&sending).unwrap();
            sending.drain(..length);
        }
        if socket.can_recv() {
            let received = socket
                .recv(|bytes: &mut [u8]| (bytes.len(), bytes.to_vec()))
                .unwrap();
            let mut received = &received[..];
            while !received.is_empty() {
                tls.read_tls(&mut received).unwrap();
                tls.process_new_packets().unwrap();
                let mut plain = [0; 4096];
                while let Ok(length @ 1..) = tls.reader().read(&mut plain) {
                    answer.push_str(std::str::from_utf8(&plain[..length]).unwrap());
                }
            }
        }
        let state = socket.state();
        let is_read = !socket.can_recv();
        (is_read && is_complete(&answer, state)).then(|| (answer.clone(), state))
    })
}
