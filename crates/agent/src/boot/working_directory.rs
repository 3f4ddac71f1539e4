//! The working directory of a sandbox without a main command, whose first command or first file may be
//! minutes away.

use std::path::Path;

use guest_container::mount_point;
use msb_sandbox_model::kernel_word::decode;

use super::mounts::open_root;
use crate::console;

/// The word on the kernel's command line that is there if a holder is process 1. It holds the working directory.
const HOLDER_VARIABLE: &str = "msb_holder";

/// Returns the holder's working directory; `None` if the sandbox has a main command, which makes its own.
pub(crate) fn of_holder() -> Option<String> {
    let word = std::env::var(HOLDER_VARIABLE).ok()?;
    Some(decode(&word).unwrap_or_default())
}

/// Makes the directory in the new root if it is missing, as docker does when it makes a container. What cannot
/// be made is reported to the command that needs it.
pub(super) fn make() {
    let Some(directory) = of_holder() else {
        return;
    };
    let path = Path::new(directory.trim_start_matches('/'));
    if path.as_os_str().is_empty() {
        return;
    }
    let made = open_root()
        .map_err(std::io::Error::other)
        .and_then(|root| mount_point(&root, path));
    if let Err(error) = made {
        console::log(&format!("cannot make the working directory: {error}"));
    }
}
