//! A registry in this process, honest unless told otherwise.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use image_store::Digest;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::images::{MANIFEST, TestImage};

/// A request, as far as the tests look at it. Header names are in lower case.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    /// How many requests for this path came before.
    pub(crate) earlier: usize,
}

/// What to answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Say the body is this long.
    pub(crate) content_length: Option<u64>,
    /// Send the body again and again.
    pub(crate) endless: bool,
}

impl Answer {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let (headers, content_length) = (Vec::new(), None);
        Self {
            status,
            headers,
            body: body.into(),
            content_length,
            endless: false,
        }
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Breaks off after this many bytes of the body.
    pub(crate) fn cut(mut self, after_bytes: usize) -> Self {
        self.content_length = Some(self.body.len() as u64);
        self.body.truncate(after_bytes);
        self
    }

    pub(crate) fn endless(mut self) -> Self {
        self.endless = true;
        self
    }
}

/// What the registry has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Content {
    manifests: BTreeMap<String, (String, Vec<u8>)>,
    blobs: BTreeMap<Digest, Vec<u8>>,
}

impl Content {
    pub(crate) fn of(image: &TestImage) -> Self {
        Self::default()
            .with(image)
            .tagged("latest", MANIFEST, &image.manifest)
    }

    pub(crate) fn with(mut self, image: &TestImage) -> Self {
        self.blobs.extend(image.blobs());
        self.tagged(&image.digest().to_string(), MANIFEST, &image.manifest)
    }

    pub(crate) fn tagged(mut self, tag: &str, media_type: &str, manifest: &[u8]) -> Self {
        self.manifests
            .insert(tag.to_owned(), (media_type.to_owned(), manifest.to_vec()));
        self
    }

    /// The honest answer.
    pub(crate) fn answer(&self, request: &Request) -> Answer {
        let name = request.path.rsplit('/').next().unwrap_or_default();
        if request.path.contains("/manifests/") {
            let Some((media_type, bytes)) = self.manifests.get(name) else {
                return Answer::new(404, r#"{"errors":[{"code":"MANIFEST_UNKNOWN"}]}"#);
            };
            return Answer::new(200, bytes.clone())
                .header("Content-Type", media_type)
                .header("Docker-Content-Digest", Digest::of(bytes).to_string());
        }
        let blob = name
            .parse()
            .ok()
            .and_then(|digest: Digest| self.blobs.get(&digest));
        let Some(blob) = blob else {
            return Answer::new(404, "");
        };
        let range = request.headers.get("range").and_then(|range| {
            range
                .strip_prefix("bytes=")?
                .strip_suffix('-')?
                .parse::<usize>()
                .ok()
        });
        match range {
            Some(start) if start < blob.len() => Answer::new(206, &blob[start..]).header(
                "Content-Range",
                format!("bytes {start}-{}/{}", blob.len() - 1, blob.len()),
            ),
            _ => Answer::new(200, blob.clone()),
        }
    }
}

type Handler = dyn Fn(&Request) -> Answer + Send + Sync;

/// The registry, until it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
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
    /// One that answers honestly.
    pub(crate) async fn honest(content: Content) -> Self {
        Self::new(move |request| content.answer(request)).await
    }

    pub(crate) async fn new(handler: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (log, handler): (Arc<Mutex<Vec<Request>>>, Arc<Handler>) =
            (Arc::default(), Arc::new(handler));
        let logged = Arc::clone(&log);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&logged), Arc::clone(&handler)));
            }
        });
        Self { address, log, task }
    }

    /// The reference of `repository` here.
    pub(crate) fn reference(&self, repository: &str) -> String {
        format!("{}/{repository}", self.address)
    }

    /// What was asked for so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.log.lock().expect("a log").clone()
    }

    /// How often blobs were asked for.
    pub(crate) fn blob_requests(&self) -> usize {
        self.requests()
            .iter()
            .filter(|request| request.path.contains("/blobs/"))
            .count()
    }
}

async fn serve(mut stream: TcpStream, log: Arc<Mutex<Vec<Request>>>, handler: Arc<Handler>) {
    let Some(mut request) = read(&mut stream).await else {
        return;
    };
    {
        let mut log = log.lock().expect("a log");
        request.earlier = log
            .iter()
            .filter(|other| other.path == request.path)
            .count();
        log.push(request.clone());
    }
    let answer = handler(&request);
    let length = answer.content_length.unwrap_or(answer.body.len() as u64);
    let mut head = format!("HTTP/1.1 {} Status\r\nConnection: close\r\n", answer.status);
    if !answer.endless {
        head.push_str(&format!("Content-Length: {length}\r\n"));
    }
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    if stream.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    while stream.write_all(&answer.body).await.is_ok() && answer.endless {}
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next_line().await.ok()??;
    let mut words = first.split(' ');
    let path = words.nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    while let Some(line) = lines
        .next_line()
        .await
        .ok()?
        .filter(|line| !line.is_empty())
    {
        let (name, value) = line.split_once(':')?;
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    Some(Request {
        path,
        headers,
        earlier: 0,
    })
}
