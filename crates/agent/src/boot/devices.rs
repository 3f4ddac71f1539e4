//! Entries of `/dev` beyond those that the kernel makes.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use guest_container::DEVICE_LINKS;

/// Devices that every user may open. The kernel gives them to root alone, but checks rights again
/// when they are used.
const FOR_ALL: [&str; 2] = ["/dev/fuse", "/dev/net/tun"];

/// Makes the links and the rights that programs expect. One devtmpfs serves the agent's root and
/// the sandbox's root, so each change appears in both.
pub(super) fn complete() -> io::Result<()> {
    for (target, link) in DEVICE_LINKS {
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
            // The kernel may be built without the device.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            outcome => outcome?,
        }
    }
    Ok(())
}
