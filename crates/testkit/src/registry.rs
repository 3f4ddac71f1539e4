//! A registry in this process, which is honest unless a test changes its answers.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use crate::images::{BlobDigest, MANIFEST, TestImage};

/// The parts of a request that tests inspect. Names of headers are in lower case.
#[derive(Debug, Clone)]
pub struct Request {
    /// In capitals.
    pub method: String,
    /// With the query.
    pub path: String,
    /// By name.
    pub headers: BTreeMap<String, String>,
    /// As text.
    pub body: String,
    /// As it came, and as far as it was read.
    pub bytes: Vec<u8>,
    /// False if the server reads no more of the body, and breaks the connection off.
    pub is_whole: bool,
    /// Number of earlier requests for this path.
    pub earlier: usize,
}

impl Request {
    /// Returns the start and the end of the range that is asked for of an object. `None` without a
    /// range, or with one that the object does not have.
    #[must_use]
    pub fn range(&self, object_bytes: usize) -> Option<(usize, usize)> {
        let range = self.headers.get("range")?.strip_prefix("bytes=")?;
        let (first, last) = range.split_once('-')?;
        let start: usize = first.parse().ok()?;
        let end = match last {
            "" => object_bytes,
            last => object_bytes.min(last.parse::<usize>().ok()? + 1),
        };
        (start < end).then_some((start, end))
    }
}

/// An answer of the registry.
#[derive(Debug, Clone)]
pub struct Answer {
    /// As HTTP counts.
    pub status: u16,
    /// In their order.
    pub headers: Vec<(String, String)>,
    /// All of it, unless the answer is cut.
    pub body: Vec<u8>,
    /// Say the body is this long.
    pub content_length: Option<u64>,
    /// Send the body again and again.
    pub endless: bool,
    /// Send these bytes alone, head and all.
    pub raw: Option<Vec<u8>>,
    /// Wait this long whenever this many bytes of the body were sent.
    pub pauses: Option<(usize, Duration)>,
    /// Reset the connection at the end, instead of closing it.
    pub reset: bool,
}

impl Answer {
    /// Returns an answer without headers.
    #[must_use]
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let (headers, content_length) = (Vec::new(), None);
        Self {
            status,
            headers,
            body: body.into(),
            content_length,
            endless: false,
            raw: None,
            pauses: None,
            reset: false,
        }
    }

    /// Returns the honest answer to a request for a blob, or for a range of it.
    #[must_use]
    pub fn blob(request: &Request, blob: &[u8]) -> Self {
        let Some((start, end)) = request.range(blob.len()) else {
            return Self::new(200, blob);
        };
        Self::new(206, &blob[start..end]).header(
            "Content-Range",
            format!("bytes {start}-{}/{}", end - 1, blob.len()),
        )
    }

    /// Returns an answer that is no more than these bytes, which may not be HTTP at all.
    #[must_use]
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            raw: Some(bytes.into()),
            ..Self::new(200, "")
        }
    }

    /// Has it wait whenever this many bytes of the body were sent.
    #[must_use]
    pub fn pausing(mut self, every_bytes: usize, pause: Duration) -> Self {
        self.pauses = Some((every_bytes, pause));
        self
    }

    /// Has it reset the connection at the end.
    #[must_use]
    pub fn reset(mut self) -> Self {
        self.reset = true;
        self
    }

    /// Takes a header away.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| other != name);
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Has it break off after this many bytes of the body.
    #[must_use]
    pub fn cut(mut self, after_bytes: usize) -> Self {
        self.content_length = Some(self.body.len() as u64);
        self.body.truncate(after_bytes);
        self
    }

    /// Has it send the body again and again.
    #[must_use]
    pub fn endless(mut self) -> Self {
        self.endless = true;
        self
    }
}

/// Content of a registry.
#[derive(Debug, Clone, Default)]
pub struct Content {
    manifests: BTreeMap<String, (String, Vec<u8>)>,
    blobs: BTreeMap<String, Vec<u8>>,
}

impl Content {
    /// Returns the content of a registry that has one image, tagged `latest`.
    #[must_use]
    pub fn from_image(image: &TestImage) -> Self {
        Self::default()
            .with(image)
            .tagged("latest", MANIFEST, &image.manifest)
    }

    /// Adds an image, which is found by its digest.
    #[must_use]
    pub fn with(mut self, image: &TestImage) -> Self {
        for (digest, blob) in image.blobs() {
            self = self.with_blob(digest.to_string(), blob);
        }
        self.tagged(&image.digest().to_string(), MANIFEST, &image.manifest)
    }

    /// Adds a blob under its digest.
    #[must_use]
    pub fn with_blob(mut self, digest: String, bytes: Vec<u8>) -> Self {
        self.blobs.insert(digest, bytes);
        self
    }

    /// Names a manifest by a tag, or by its digest.
    #[must_use]
    pub fn tagged(mut self, tag: &str, media_type: &str, manifest: &[u8]) -> Self {
        self.manifests
            .insert(tag.to_owned(), (media_type.to_owned(), manifest.to_vec()));
        self
    }

    /// Returns the honest answer.
    #[must_use]
    pub fn answer(&self, request: &Request) -> Answer {
        let path = request.path.split('?').next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        if request.path.contains("/manifests/") {
            let Some((media_type, bytes)) = self.manifests.get(name) else {
                return Answer::new(404, r#"{"errors":[{"code":"MANIFEST_UNKNOWN"}]}"#);
            };
            return Answer::new(200, bytes.clone())
                .header("Content-Type", media_type)
                .header(
                    "Docker-Content-Digest",
                    BlobDigest::compute(bytes).to_string(),
                );
        }
        let Some(blob) = self.blobs.get(name) else {
            return Answer::new(404, "");
        };
        Answer::blob(request, blob)
    }
}

type Handler = dyn Fn(&Request) -> Answer + Send + Sync;
/// Says after how many bytes of a request's body the connection breaks off. The request that it is
/// given has none yet.
type Cut = dyn Fn(&Request) -> Option<usize> + Send + Sync;

/// The behaviour of a server.
#[derive(Clone)]
struct Behaviour {
    handler: Arc<Handler>,
    cut: Arc<Cut>,
}

/// The registry, until it is dropped.
pub struct Server {
    /// The address that the server listens on.
    pub address: SocketAddr,
    log: Arc<Mutex<Vec<Request>>>,
    task: JoinHandle<()>,
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Server({})", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Starts one that answers honestly.
    pub async fn honest(content: Content) -> Self {
        Self::new(move |request| content.answer(request)).await
    }

    /// Starts one that answers as it is told.
    pub async fn new(handler: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::start(None, Arc::new(handler), Arc::new(|_| None)).await
    }

    /// Starts one that breaks connections off within the bodies of requests, at the byte that `cut`
    /// gives. The handler is told what came until then, and its answer is not sent.
    pub async fn cutting(
        cut: impl Fn(&Request) -> Option<usize> + Send + Sync + 'static,
        handler: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::start(None, Arc::new(handler), Arc::new(cut)).await
    }

    /// Starts a registry that uses TLS.
    pub async fn with_tls(
        config: Arc<ServerConfig>,
        handler: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let tls = Some(TlsAcceptor::from(config));
        Self::start(tls, Arc::new(handler), Arc::new(|_| None)).await
    }

    async fn start(tls: Option<TlsAcceptor>, handler: Arc<Handler>, cut: Arc<Cut>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let log: Arc<Mutex<Vec<Request>>> = Arc::default();
        let behaviour = Behaviour { handler, cut };
        let logged = Arc::clone(&log);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (log, behaviour) = (Arc::clone(&logged), behaviour.clone());
                match tls.clone() {
                    None => drop(tokio::spawn(serve_plain(stream, log, behaviour))),
                    Some(tls) => drop(tokio::spawn(async move {
                        if let Ok(mut stream) = tls.accept(stream).await {
                            serve(&mut stream, log, behaviour).await;
                        }
                    })),
                }
            }
        });
        Self { address, log, task }
    }

    /// Returns the reference of `repository` here.
    #[must_use]
    pub fn reference(&self, repository: &str) -> String {
        format!("{}/{repository}", self.address)
    }

    /// Returns what was asked for so far.
    ///
    /// # Panics
    /// A handler has panicked.
    pub fn requests(&self) -> Vec<Request> {
        self.log.lock().expect("a log").clone()
    }

    /// Returns how often blobs were asked for.
    pub fn blob_requests(&self) -> usize {
        self.requests()
            .iter()
            .filter(|request| request.path.contains("/blobs/"))
            .count()
    }

    /// Returns true if a request contained credentials.
    pub fn saw_credentials(&self) -> bool {
        let requests = self.requests();
        requests
            .iter()
            .any(|request| request.headers.contains_key("authorization"))
    }
}

async fn serve_plain(mut stream: TcpStream, log: Arc<Mutex<Vec<Request>>>, behaviour: Behaviour) {
    if serve(&mut stream, log, behaviour).await {
        // A socket that is closed with unread input is reset.
        let _ = stream.set_zero_linger();
    }
}

/// Serves one request. Returns true if the connection must be reset.
async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    log: Arc<Mutex<Vec<Request>>>,
    behaviour: Behaviour,
) -> bool {
    let Some(mut request) = read(stream, &*behaviour.cut).await else {
        return false;
    };
    {
        let mut log = log.lock().expect("a log");
        request.earlier = log
            .iter()
            .filter(|other| other.path == request.path)
            .count();
        log.push(request.clone());
    }
    let answer = (behaviour.handler)(&request);
    if !request.is_whole {
        return true;
    }
    if send(stream, &answer).await.is_ok() && !answer.reset {
        let _ = stream.shutdown().await;
    }
    answer.reset
}

async fn send<S: AsyncWrite + Unpin>(stream: &mut S, answer: &Answer) -> std::io::Result<()> {
    if let Some(raw) = &answer.raw {
        stream.write_all(raw).await?;
        return stream.flush().await;
    }
    let length = answer.content_length.unwrap_or(answer.body.len() as u64);
    let mut head = format!("HTTP/1.1 {} Status\r\nConnection: close\r\n", answer.status);
    if !answer.endless {
        head.push_str(&format!("Content-Length: {length}\r\n"));
    }
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await?;
    if let Some((every_bytes, pause)) = answer.pauses {
        for part in answer.body.chunks(every_bytes) {
            stream.write_all(part).await?;
            stream.flush().await?;
            tokio::time::sleep(pause).await;
        }
        return Ok(());
    }
    stream.write_all(&answer.body).await?;
    if answer.endless {
        loop {
            stream.write_all(&answer.body).await?;
        }
    }
    stream.flush().await
}

async fn read<S: AsyncRead + Unpin>(stream: &mut S, cut: &Cut) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).await.ok()?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers
        .get("content-length")
        .and_then(|text| text.parse().ok());
    let mut request = Request {
        method,
        path,
        headers,
        body: String::new(),
        bytes: Vec::new(),
        is_whole: true,
        earlier: 0,
    };
    let mut length_bytes = length.unwrap_or(0);
    if let Some(after_bytes) = cut(&request).filter(|after_bytes| *after_bytes < length_bytes) {
        length_bytes = after_bytes;
        request.is_whole = false;
    }
    request.bytes = vec![0; length_bytes];
    reader.read_exact(&mut request.bytes).await.ok()?;
    request.body = String::from_utf8_lossy(&request.bytes).into_owned();
    Some(request)
}
