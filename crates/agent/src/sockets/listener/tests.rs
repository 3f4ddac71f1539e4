use std::os::unix::fs::PermissionsExt as _;

use msb_agent_protocol::{Bytes, Code};
use rustix::process::{getgid, getuid};

use super::*;

fn request(path: &Path) -> AcceptRequest {
    AcceptRequest {
        path: Bytes::copy_from_slice(path.as_os_str().as_bytes()),
        owner: format!("{}:{}", getuid().as_raw(), getgid().as_raw()),
        mode: Some(0o666),
        parents: true,
    }
}

#[tokio::test]
async fn a_socket_has_its_mode_and_is_removed_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a/b/socket");
    let listener = listen(request(&path)).await.expect("listening");
    let mode = fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o7777, 0o666);
    let connecting = UnixStream::connect(&path);
    let (accepted, connected) = tokio::join!(listener.accept(), connecting);
    assert!(accepted.is_ok() && connected.is_ok());
    listener.remove().await;
    assert!(!path.exists());
}

#[tokio::test]
async fn only_a_socket_without_a_listener_is_replaced() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("socket");
    drop(StdUnixListener::bind(&path).expect("bound"));
    let listener = listen(request(&path)).await.expect("it was left");
    let taken = listen(request(&path)).await.err().expect("in use");
    assert_eq!(taken.code(), Code::AlreadyExists, "{}", taken.message());
    drop(listener);
    fs::remove_file(&path).expect("removed");
    fs::write(&path, "content").expect("written");
    let taken = listen(request(&path)).await.err().expect("a file");
    assert_eq!(taken.code(), Code::AlreadyExists, "{}", taken.message());
    assert_eq!(fs::read(&path).expect("read"), b"content");
}

#[tokio::test]
async fn another_file_in_the_place_of_the_socket_stays() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("socket");
    let listener = listen(request(&path)).await.expect("listening");
    fs::remove_file(&path).expect("removed");
    fs::write(&path, "content").expect("written");
    listener.remove().await;
    assert!(path.exists());
}

#[tokio::test]
async fn a_path_that_is_too_long_is_refused() {
    let path = Path::new("/").join("a".repeat(200));
    let refused = listen(request(&path)).await.err().expect("refused");
    assert_eq!(refused.code(), Code::InvalidArgument);
}
