use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;

use fs_err as fs;

use crate::FILE_MODE;

/// Makes a Unix socket at `path` and listens on it.
/// Its mode is set an instant after it appears: until then, other users are kept out by the
/// directory that contains it.
///
/// # Errors
/// Fails as [`UnixListener::bind`] does. No socket is left then.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path)?;
    let closed = fs::set_permissions(path, std::fs::Permissions::from_mode(FILE_MODE));
    match closed {
        Ok(()) => Ok(listener),
        Err(error) => {
            // The first error is the one to report.
            let _ = fs::remove_file(path);
            Err(error)
        }
    }
}
