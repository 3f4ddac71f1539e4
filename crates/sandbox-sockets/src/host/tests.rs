use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use fs_err as fs;

use super::*;

fn open(path: &Path) -> Result<HostSocket, SocketsError> {
    HostSocket::open(path, &SharedDirectories::default())
}

/// Listens without waiting for clients.
fn listener(path: &Path) -> UnixListener {
    let listener = UnixListener::bind(path).expect("bound");
    listener.set_nonblocking(true).expect("set");
    listener
}

#[tokio::test]
async fn a_socket_is_connected_to_also_when_its_server_has_started_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.sock");
    let first = listener(&path);
    let socket = open(&path).expect("a socket");
    socket.connect().await.expect("connected");
    drop(first);
    socket.connect().await.expect_err("nothing listens");
    fs::remove_file(&path).expect("removed");
    let second = listener(&path);
    socket.connect().await.expect("connected");
    second.accept().expect("a client");
}

#[tokio::test]
async fn a_path_that_is_led_elsewhere_later_is_not_followed() {
    let scratch = tempfile::tempdir().expect("a directory");
    let [work, moved, apart] = ["work", "moved", "apart"].map(|name| scratch.path().join(name));
    for directory in [&work, &apart] {
        fs::create_dir(directory).expect("made");
    }
    let (path, secret) = (work.join("a.sock"), apart.join("a.sock"));
    let (own, other) = (listener(&path), listener(&secret));
    let socket = open(&path).expect("a socket");
    // Another directory in place of the socket's.
    fs::rename(&work, &moved).expect("moved");
    symlink(&apart, &work).expect("linked");
    socket.connect().await.expect("connected");
    own.accept().expect("the same socket as before");
    // Another file in place of the socket.
    fs::remove_file(moved.join("a.sock")).expect("removed");
    symlink(&secret, moved.join("a.sock")).expect("linked");
    let refused = socket.connect().await.expect_err("a symlink");
    assert!(matches!(refused, SocketsError::Host { .. }), "{refused}");
    other.accept().expect_err("no client");
}

#[test]
fn what_is_no_socket_or_an_engine_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("file");
    fs::write(&file, "").expect("written");
    let missing = directory.path().join("missing");
    for path in [&file, &missing, &directory.path().to_owned()] {
        let refused = open(path).expect_err("no socket");
        assert!(matches!(refused, SocketsError::Host { .. }), "{refused}");
    }
    let engine = directory.path().join("libvirt-sock");
    let _listener = listener(&engine);
    let link = directory.path().join("innocent");
    symlink(&engine, &link).expect("linked");
    for path in [engine, link] {
        let refused = open(&path).expect_err("an engine");
        let text = refused.to_string();
        assert!(text.contains("it is that of libvirt"), "{text}");
    }
}
