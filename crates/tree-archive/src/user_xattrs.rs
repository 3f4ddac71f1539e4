use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

use fstree::Xattrs;
use rustix::fs::{getxattr, listxattr};
use rustix::io::Errno;

/// Maximum size of a list of xattr names and of a value (`XATTR_LIST_MAX`, linux/limits.h).
const XATTR_MAX_BYTES: usize = 65_536;

/// Returns the `user.*` xattrs of an open file, which may be open with `O_PATH` only. Those that this user may
/// not read are left out, and a filesystem without xattrs has none.
///
/// # Errors
/// If the filesystem cannot list or read them.
pub fn user_xattrs(file: impl AsFd) -> io::Result<Xattrs> {
    let path = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let mut xattrs = Xattrs::new();
    let length = match listxattr(&path, &mut [0_u8; 0][..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP | Errno::PERM | Errno::ACCESS) => 0,
        Err(error) => return Err(error.into()),
    };
    if length == 0 {
        return Ok(xattrs);
    }
    let mut buffer = vec![0; XATTR_MAX_BYTES];
    let length = listxattr(&path, &mut buffer[..])?;
    let names = buffer[..length].to_vec();
    for name in names.split(|&byte| byte == 0) {
        if !name.starts_with(b"user.") {
            continue;
        }
        match getxattr(&path, name, &mut buffer[..]) {
            Ok(length) => {
                xattrs.insert(name, &buffer[..length]);
            }
            // The xattr has been removed, or this user may not read it.
            Err(Errno::NODATA | Errno::PERM | Errno::ACCESS) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(xattrs)
}
