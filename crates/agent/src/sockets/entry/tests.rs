use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::fchmod;
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{getgid, getuid};

use super::*;

/// The owner of the test's files.
fn own() -> (u32, u32) {
    (getuid().as_raw(), getgid().as_raw())
}

fn entry(path: &Path) -> SocketEntry {
    SocketEntry::open(path.as_os_str().as_bytes(), Missing::Refused).expect("opened")
}

fn unbound() -> OwnedFd {
    let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("a socket");
    fchmod(&socket, FIRST_MODE).expect("its mode");
    socket
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").permissions().mode() & 0o7777
}

#[test]
fn a_directory_that_is_swapped_gets_no_socket_and_no_mode() {
    let scratch = tempfile::tempdir().expect("a directory");
    let [of_user, moved, root] = ["user", "moved", "root"].map(|name| scratch.path().join(name));
    for directory in [&of_user, &root] {
        fs::create_dir(directory).expect("made");
    }
    let secret = root.join("socket");
    let _listener = UnixListener::bind(&secret).expect("bound");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("closed");
    let entry = entry(&of_user.join("socket"));
    // The user leads the path to a directory of root, before the socket is bound.
    fs::rename(&of_user, &moved).expect("moved");
    symlink(&root, &of_user).expect("linked");
    let socket = unbound();
    entry.bind(&socket).expect("bound where it was opened");
    let identity = entry
        .give(own(), Mode::from_raw_mode(0o666))
        .expect("given");
    assert_eq!(mode_of(&moved.join("socket")), 0o666);
    assert_eq!(mode_of(&secret), 0o600);
    entry.remove(identity);
    assert!(!moved.join("socket").exists() && secret.exists());
}

#[test]
fn another_file_in_the_place_of_the_socket_keeps_its_mode() {
    let scratch = tempfile::tempdir().expect("a directory");
    let (path, other) = (scratch.path().join("socket"), scratch.path().join("other"));
    let entry = entry(&path);
    let socket = unbound();
    entry.bind(&socket).expect("bound");
    fs::remove_file(&path).expect("removed");
    fs::write(&other, "").expect("written");
    fs::set_permissions(&other, fs::Permissions::from_mode(0o600)).expect("closed");
    symlink(&other, &path).expect("linked");
    let mode = Mode::from_raw_mode(0o666);
    entry.give(own(), mode).expect_err("a symlink");
    fs::remove_file(&path).expect("removed");
    fs::rename(&other, &path).expect("moved");
    entry.give(own(), mode).expect_err("a file");
    assert_eq!(mode_of(&path), 0o600);
    let found = fs::metadata(&path).expect("a file");
    entry.remove((found.dev(), found.ino() + 1));
    assert!(path.exists());
}

#[test]
fn a_path_without_a_name_is_refused() {
    for path in ["/", "/tmp/", "/tmp/.", "/tmp/.."] {
        SocketEntry::open(path.as_bytes(), Missing::Refused).expect_err(path);
    }
}
