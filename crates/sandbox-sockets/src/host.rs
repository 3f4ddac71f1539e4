//! Sockets of the host: which are forwarded, and connections to them.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, fstat};
use rustix::process::geteuid;
use tokio::net::UnixStream;

use crate::SocketsError;
use crate::engines::engine_at;
use crate::shared_directories::SharedDirectories;
use crate::way::{Way, link};

/// A socket of the host that may be forwarded. Its directory is open, and the path leads nowhere else while this exists.
#[derive(Debug)]
pub(crate) struct HostSocket {
    path: PathBuf,
    way: Way,
}

impl HostSocket {
    /// Follows a path to a socket that may be forwarded.
    pub(crate) fn open(path: &Path, shared: &SharedDirectories) -> Result<Self, SocketsError> {
        let way = Way::follow(path).map_err(|source| SocketsError::Host {
            path: path.to_owned(),
            source,
        })?;
        shared.check(path, &way)?;
        let socket = Self {
            path: path.to_owned(),
            way,
        };
        socket.file()?;
        Ok(socket)
    }

    /// Returns a path of the socket's directory that leads to no other one.
    pub(crate) fn directory(&self) -> PathBuf {
        self.way.directory()
    }

    /// Connects to the socket, which is checked again: its server may have made another one since.
    pub(crate) async fn connect(&self) -> Result<UnixStream, SocketsError> {
        let file = self.file()?;
        // The path leads to the file that was checked.
        let stream = UnixStream::connect(link(&file)).await;
        let stream = stream.map_err(|source| self.failed(source))?;
        let listener = stream.peer_cred().map_err(|source| self.failed(source))?;
        if listener.uid() == 0 && !geteuid().is_root() {
            return Err(SocketsError::OfRoot {
                path: self.path.clone(),
            });
        }
        Ok(stream)
    }

    /// Opens the file without using it, and checks that it is a socket that may be forwarded.
    fn file(&self) -> Result<OwnedFd, SocketsError> {
        let failed = |source| self.failed(source);
        let file = self.way.open().map_err(failed)?;
        let found = fstat(&file).map_err(|error| failed(error.into()))?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Socket => {}
            FileType::Symlink => return Err(failed(other_file("a symlink has taken its place"))),
            _ => return Err(failed(other_file("it is not a socket"))),
        }
        match engine_at(&self.path, self.way.real(), &found) {
            Some(engine) => Err(SocketsError::Engine {
                path: self.path.clone(),
                engine,
            }),
            None => Ok(file),
        }
    }

    fn failed(&self, source: io::Error) -> SocketsError {
        SocketsError::Host {
            path: self.path.clone(),
            source,
        }
    }
}

fn other_file(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

#[cfg(test)]
mod tests;
