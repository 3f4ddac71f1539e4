//! A minimal registry on the loopback interface (OCI distribution-spec 1.1, section "Pull"). It
//! does so little that the measured cost is the puller's.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::layout;

pub(crate) const NAME: &str = "bench/image";
const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";

/// A registry that serves one layout until the process ends.
#[derive(Debug)]
pub(crate) struct Registry {
    address: SocketAddr,
}

impl Registry {
    pub(crate) fn start(directory: &Path) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let manifest = layout::manifest_digest(directory)?;
        let blobs = directory.join("blobs");
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (manifest, blobs) = (manifest.clone(), blobs.clone());
                // A client that disconnects ends only its own connection.
                std::thread::spawn(move || answer_all(&stream, &manifest, &blobs));
            }
        });
        Ok(Self { address })
    }

    /// Returns the reference to pull.
    pub(crate) fn reference(&self) -> String {
        format!("{}/{NAME}:latest", self.address)
    }
}

/// Answers the requests of a connection until it is closed.
fn answer_all(stream: &TcpStream, manifest: &str, blobs: &Path) -> io::Result<()> {
    // Every answer must be sent at once.
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut request = String::new();
        if reader.read_line(&mut request)? == 0 {
            return Ok(());
        }
        let mut header = String::from("-");
        while !header.trim_end().is_empty() {
            header.clear();
            reader.read_line(&mut header)?;
        }
        let mut words = request.split_whitespace();
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return Ok(());
        };
        answer(stream, method, &found(path, manifest, blobs))?;
    }
}

/// The object that a path names.
pub(crate) enum Found {
    Nothing,
    Root,
    File {
        path: PathBuf,
        media_type: &'static str,
    },
}

/// Returns the object of a layout that a path names.
pub(crate) fn found(path: &str, manifest: &str, blobs: &Path) -> Found {
    if path == "/v2/" {
        return Found::Root;
    }
    let place = path.strip_prefix(&format!("/v2/{NAME}/"));
    let digest = match place.and_then(|place| place.split_once('/')) {
        Some(("manifests", "latest")) => manifest,
        Some(("manifests" | "blobs", digest)) => digest,
        _ => return Found::Nothing,
    };
    let is_manifest = digest == manifest;
    digest
        .split_once(':')
        .map_or(Found::Nothing, |(algorithm, hex)| Found::File {
            path: blobs.join(algorithm).join(hex),
            media_type: if is_manifest {
                MANIFEST_TYPE
            } else {
                "application/octet-stream"
            },
        })
}

fn answer(mut stream: &TcpStream, method: &str, found: &Found) -> io::Result<()> {
    let opened = match found {
        Found::File { path, media_type } => File::open(path).ok().map(|file| (file, media_type)),
        Found::Root => return stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        Found::Nothing => None,
    };
    let Some((mut file, media_type)) = opened else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    };
    let length = file.metadata()?.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    if method == "GET" {
        io::copy(&mut file, &mut stream)?;
    }
    Ok(())
}
