//! Sockets of the host: which are forwarded, and connections to them.

use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use fs_err as fs;
use msb_sandbox_model::is_engine_socket;
use rustix::process::geteuid;
use tokio::net::UnixStream;

use crate::SocketsError;

/// The sockets of container engines, where they are usually. Another name for one of them is found by its inode.
const ENGINES: [&str; 8] = [
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/containerd/containerd.sock.ttrpc",
    "/run/crio/crio.sock",
    "/run/cri-dockerd.sock",
    "/run/buildkit/buildkitd.sock",
    "/run/k3s/containerd/containerd.sock",
];

/// Checks that a path leads to a socket that may be forwarded.
pub(crate) fn check(path: &Path) -> Result<(), SocketsError> {
    let failed = |source| SocketsError::Host {
        path: path.to_owned(),
        source,
    };
    let real = fs::canonicalize(path).map_err(failed)?;
    let found = fs::metadata(&real).map_err(failed)?;
    if !found.file_type().is_socket() {
        return Err(failed(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a socket",
        )));
    }
    let is_named = |path: &Path| path.to_str().is_some_and(is_engine_socket);
    let identity = (found.dev(), found.ino());
    let is_other_name = ENGINES.iter().any(|engine| {
        let engine = fs::metadata(engine);
        engine.is_ok_and(|engine| (engine.dev(), engine.ino()) == identity)
    });
    if is_named(path) || is_named(&real) || is_other_name {
        return Err(SocketsError::Engine {
            path: path.to_owned(),
        });
    }
    Ok(())
}

/// Connects to a socket of the host, which is checked again: another one may be at its path by now.
pub(crate) async fn connect(path: &Path) -> Result<UnixStream, SocketsError> {
    check(path)?;
    let failed = |source| SocketsError::Host {
        path: path.to_owned(),
        source,
    };
    let stream = UnixStream::connect(path).await.map_err(failed)?;
    let listener = stream.peer_cred().map_err(failed)?;
    if listener.uid() == 0 && !geteuid().is_root() {
        return Err(SocketsError::OfRoot {
            path: path.to_owned(),
        });
    }
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[tokio::test]
    async fn a_socket_is_connected_to() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.sock");
        let _listener = UnixListener::bind(&path).expect("bound");
        check(&path).expect("a socket");
        connect(&path).await.expect("connected");
    }

    #[test]
    fn what_is_no_socket_or_an_engine_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("file");
        fs::write(&file, "").expect("written");
        let refused = check(&file).expect_err("no socket");
        assert!(matches!(refused, SocketsError::Host { .. }), "{refused}");
        let refused = check(&directory.path().join("missing")).expect_err("missing");
        assert!(matches!(refused, SocketsError::Host { .. }), "{refused}");
        let engine = directory.path().join("docker.sock");
        let _listener = UnixListener::bind(&engine).expect("bound");
        let link = directory.path().join("innocent");
        symlink(&engine, &link).expect("linked");
        for path in [engine, link] {
            let refused = check(&path).expect_err("an engine");
            assert!(matches!(refused, SocketsError::Engine { .. }), "{refused}");
        }
    }
}
