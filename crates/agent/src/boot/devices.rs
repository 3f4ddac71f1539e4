//! What `/dev` has besides what the kernel puts there.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};

/// Links that every program expects in `/dev`, as in a container of docker's.
const LINKS: [(&str, &str); 5] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
    ("/proc/kcore", "/dev/core"),
];

/// What every user may open, and the kernel gives to root alone: it asks for rights of its own when they
/// are used.
const FOR_ALL: [&str; 2] = ["/dev/fuse", "/dev/net/tun"];

/// Makes links and rights as programs expect them. One devtmpfs serves the agent's root and the sandbox's, so
/// what is done here is there at once.
pub(super) fn complete() -> io::Result<()> {
    for (target, link) in LINKS {
        match symlink(target, link) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    // Without this link, programs would get terminals of another instance of devpts.
    let _ = fs::remove_file("/dev/ptmx");
    symlink("pts/ptmx", "/dev/ptmx")?;
    for device in FOR_ALL {
        match fs::set_permissions(device, fs::Permissions::from_mode(0o666)) {
            // A kernel may come without it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            outcome => outcome?,
        }
    }
    Ok(())
}
