//! Unix sockets at paths of any length.

use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fd::{AsRawFd as _, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use tokio::net::UnixStream;

/// Bytes that fit `sun_path` on every host (104 on macOS, 108 on Linux), without the NUL.
const PATH_MAX_BYTES: usize = 103;

/// Listens at `path`; only its owner can connect.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    let (short, _directory) = shorten(path)?;
    durable_files::bind(&short)
}

/// Connects to the socket at `path`.
///
/// # Errors
/// If the socket does not exist, or no process accepts from it.
pub async fn connect(path: &Path) -> io::Result<UnixStream> {
    let (short, _directory) = shorten(path)?;
    UnixStream::connect(short).await
}

/// Connects to the socket at `path`, and blocks while its queue is full.
///
/// # Errors
/// If the socket does not exist, or no process accepts from it.
pub fn connect_now(path: &Path) -> io::Result<std::os::unix::net::UnixStream> {
    let (short, _directory) = shorten(path)?;
    std::os::unix::net::UnixStream::connect(short)
}

/// Returns a path that fits: the same one, or one through an open descriptor of its directory.
/// The descriptor must stay open while the path is used.
fn shorten(path: &Path) -> io::Result<(PathBuf, Option<OwnedFd>)> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    if path.as_os_str().len() <= PATH_MAX_BYTES {
        return Ok((path.to_owned(), None));
    }
    let directory = open(
        directory,
        OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let short = format!("/dev/fd/{}", directory.as_raw_fd());
    Ok((Path::new(&short).join(name), Some(directory)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn long_paths_work() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let deep = directory.path().join("d".repeat(200));
        std::fs::create_dir(&deep).expect("created");
        let path = deep.join("socket");
        let listener = bind(&path).expect("bound");
        let connected = connect(&path).await;
        assert!(connected.is_ok() && listener.accept().is_ok());
    }
}
