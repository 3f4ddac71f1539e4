//! Sockets that accept the connection of this process and no other one.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;

use fs_err as fs;
use msb_runtime::socket;

/// Listens at a path that nothing is left of, and connects. Returns both ends: the connection waits until the listener
/// accepts it.
pub(crate) fn one_connection(path: &Path) -> io::Result<(UnixListener, OwnedFd)> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = socket::bind(path)?;
    let connected = socket::connect_now(path);
    // No other process may connect.
    fs::remove_file(path)?;
    Ok((listener, connected?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_waits_and_the_path_is_gone() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("socket");
        std::fs::write(&path, "left by another process").expect("written");
        let (listener, _connected) = one_connection(&path).expect("connected");
        assert!(!path.exists());
        listener.accept().expect("a connection");
    }
}
