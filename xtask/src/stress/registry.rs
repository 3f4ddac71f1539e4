use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;

use super::content::{Content, digest};

/// So much of a blob is sent at once, and then this pause made: kills shall come in the middle.
const CHUNK_BYTES: usize = 128 << 10;
const PAUSE: Duration = Duration::from_millis(4);

/// A registry in this process that counts how often each blob is asked for. Its threads live as
/// long as the process.
#[derive(Debug, Clone)]
pub(super) struct CountingRegistry {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    content: Content,
    requests: Mutex<BTreeMap<String, usize>>,
}

impl CountingRegistry {
    pub(super) fn serve(content: Content) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            content,
            requests: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = Arc::clone(&serving);
                // A client that was killed is no failure of this thread.
                std::thread::spawn(move || drop(answer(&stream, &serving)));
            }
        });
        Ok(Self { address, shared })
    }

    /// The names of all images.
    pub(super) fn names(&self) -> Vec<String> {
        let repositories = self.shared.content.manifests.keys();
        repositories.map(|name| self.name(name)).collect()
    }

    /// The name of the image in a repository.
    pub(super) fn name(&self, repository: &str) -> String {
        format!("{}/{repository}:latest", self.address)
    }

    /// How often each layer of these repositories was asked for since the last time.
    pub(super) fn take_counts(&self) -> BTreeMap<String, usize> {
        let layers = self.shared.content.layers.values().flatten();
        let mut requests = self.requests();
        let counts = layers.filter_map(|layer| requests.remove_entry(layer));
        let counts = counts.collect();
        requests.clear();
        counts
    }

    fn requests(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, usize>> {
        let requests = self.shared.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer(stream: &TcpStream, shared: &Shared) -> Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let mut from_byte = 0;
    for line in lines {
        let line = line?.to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(range) = line.strip_prefix("range: bytes=") {
            from_byte = range.trim_end_matches('-').parse()?;
        }
    }
    let path = first.split(' ').nth(1).unwrap_or_default();
    let Some((bytes, media_type)) = find(path, shared) else {
        return Ok(write!(
            &*stream,
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        )?);
    };
    let rest = bytes.get(from_byte..).unwrap_or_default();
    let status = if from_byte > 0 {
        "206 Partial"
    } else {
        "200 OK"
    };
    write!(
        &*stream,
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\
        Content-Range: bytes {from_byte}-{}/{}\r\nDocker-Content-Digest: {}\r\nConnection: close\r\n\r\n",
        rest.len(),
        bytes.len().saturating_sub(1),
        bytes.len(),
        digest(bytes)
    )?;
    for chunk in rest.chunks(CHUNK_BYTES) {
        (&*stream).write_all(chunk)?;
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn find<'a>(path: &str, shared: &'a Shared) -> Option<(&'a [u8], &'static str)> {
    let (repository, rest) = path.strip_prefix("/v2/")?.split_once('/')?;
    let (kind, name) = rest.split_once('/')?;
    if kind == "manifests" {
        let manifest = shared.content.manifests.get(repository)?;
        let is_it = name == "latest" || name == digest(manifest);
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        return is_it.then_some((manifest.as_slice(), media_type));
    }
    let mut requests = shared
        .requests
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    *requests.entry(name.to_owned()).or_default() += 1;
    let blob = shared.content.blobs.get(name)?;
    Some((blob.as_slice(), "application/octet-stream"))
}
