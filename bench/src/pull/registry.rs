use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;

use super::network::{Link, Network, Paced};
use crate::image::registry::{Found, NAME, found};
use crate::layout;

const BUFFER_BYTES: usize = 64 << 10;

/// A registry on the loopback interface that serves one layout over a simulated network, until the
/// process ends.
#[derive(Debug)]
pub(super) struct SlowRegistry {
    address: SocketAddr,
}

/// The answer of a registry to a request for a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ranges {
    Served,
    /// The whole object is the answer.
    Ignored,
}

/// The content of a registry.
#[derive(Debug)]
struct Content {
    manifest: String,
    blobs: PathBuf,
    ranges: Ranges,
}

/// The parts of a request that matter.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    path: String,
    /// The first byte of a range, and the last one if it is stated.
    range: Option<(u64, Option<u64>)>,
}

impl SlowRegistry {
    pub(super) fn start(
        directory: &Path,
        network: &'static Network,
        ranges: Ranges,
    ) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let content = Arc::new(Content {
            manifest: layout::manifest_digest(directory)?,
            blobs: directory.join("blobs"),
            ranges,
        });
        let link = Arc::new(Link::new(network));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (content, link) = (Arc::clone(&content), Arc::clone(&link));
                // A client that disconnects ends only its own connection.
                std::thread::spawn(move || answer_all(&stream, &content, &link));
            }
        });
        Ok(Self { address })
    }

    /// Returns the reference to pull.
    pub(super) fn reference(&self) -> String {
        format!("{}/{NAME}:latest", self.address)
    }
}

/// Answers the requests of a connection until it is closed.
fn answer_all(stream: &TcpStream, content: &Content, link: &Link) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut paced = Paced::new(stream, link);
    while let Some(request) = Request::read(&mut reader)? {
        paced.wait_for_answer();
        content.answer(&mut paced, &request)?;
    }
    Ok(())
}

impl Request {
    /// Reads a request; `None` at the end of the connection.
    fn read(reader: &mut impl io::BufRead) -> io::Result<Option<Self>> {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some(path) = line.split_whitespace().nth(1).map(str::to_owned) else {
            return Ok(None);
        };
        let mut range = None;
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            let header = line.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                return Ok(Some(Self { path, range }));
            }
            if let Some(text) = header.strip_prefix("range: bytes=") {
                range = parse_range(text);
            }
        }
    }
}

/// Parses a range such as `5-9` or `5-`.
fn parse_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (first, last) = text.split_once('-')?;
    let last = match last {
        "" => None,
        last => Some(last.parse().ok()?),
    };
    Some((first.parse().ok()?, last))
}

impl Content {
    fn answer(&self, paced: &mut Paced<'_, &TcpStream>, request: &Request) -> io::Result<()> {
        let opened = match found(&request.path, &self.manifest, &self.blobs) {
            Found::File { path, media_type } => {
                File::open(path).ok().map(|file| (file, media_type))
            }
            Found::Root => return paced.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
            Found::Nothing => None,
        };
        let Some((mut file, media_type)) = opened else {
            return paced.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        };
        let size_bytes = file.metadata()?.len();
        let range = request.range.filter(|_| self.ranges == Ranges::Served);
        let (start, end) = match range {
            Some((first, last)) => {
                let end = last.map_or(size_bytes, |last| size_bytes.min(last.saturating_add(1)));
                (first.min(end), end)
            }
            None => (0, size_bytes),
        };
        let status = match range {
            Some(_) => {
                let last = end.saturating_sub(1);
                format!("206 Partial Content\r\nContent-Range: bytes {start}-{last}/{size_bytes}")
            }
            None => "200 OK".to_owned(),
        };
        let length = end - start;
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\r\n"
        );
        paced.send(head.as_bytes())?;
        file.seek(SeekFrom::Start(start))?;
        send_all(&mut file.take(length), paced)
    }
}

fn send_all(from: &mut impl Read, paced: &mut Paced<'_, &TcpStream>) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = from.read(&mut buffer)?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else {
            return Ok(());
        };
        paced.send(bytes)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_with_their_ranges() {
        let mut text: &[u8] = b"GET /a HTTP/1.1\r\nHost: x\r\nrange: bytes=5-9\r\n\r\n\
            GET /b HTTP/1.1\r\nRange: bytes=7-\r\n\r\nGET /c HTTP/1.1\r\n\r\n";
        let request = |path: &str, range| {
            Some(Request {
                path: path.to_owned(),
                range,
            })
        };
        let mut next = || Request::read(&mut text).expect("read");
        assert_eq!(next(), request("/a", Some((5, Some(9)))));
        assert_eq!(next(), request("/b", Some((7, None))));
        assert_eq!(next(), request("/c", None));
        assert_eq!(next(), None);
    }
}
