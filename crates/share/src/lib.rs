//! A host directory that a guest sees over virtio-fs, served to a VMM that leaves the device's queues to
//! another process (vhost-user).
//!
//! ```text
//! guest ── FUSE over virtqueues in its memory ──> this process ── system calls ──> the directory
//! VMM   ── where those queues lie, once ────────>
//! ```
//!
//! The requests are a hostile guest's. They are answered by `fuse-backend-rs`, which opens every name by
//! itself and follows no symlink; a read-only directory answers nothing that changes a file. Around
//! both stands the jail of whoever calls this: [`Share::open`] opens what lies outside of the directory, so
//! the jail goes on between it and [`Share::serve`].

mod device;
mod read_only;

use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use fuse_backend_rs::api::server::Server;
use fuse_backend_rs::passthrough::{CachePolicy, Config, PassthroughFs};
use vhost_user_backend::VhostUserDaemon;
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

use crate::device::{Answer, Device};
use crate::read_only::ReadOnly;

/// Why a directory is not shared, or not any more.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// The directory cannot be opened.
    #[error("cannot open the directory {}", .directory.display())]
    Open {
        /// Which.
        directory: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Its path is one that `fuse-backend-rs` cannot take.
    #[error("the path {} is not UTF-8", .directory.display())]
    Path {
        /// Which.
        directory: PathBuf,
    },
    /// The VMM and this process do not get on.
    #[error("cannot {action}: {reason}")]
    Device {
        /// What was tried.
        action: &'static str,
        /// Why not, as vhost-user's own error says it, which no other thread may have.
        reason: String,
    },
}

/// An open directory.
pub struct Share {
    answer: Box<dyn Answer>,
}

impl std::fmt::Debug for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Share").finish_non_exhaustive()
    }
}

impl Share {
    /// Opens `directory`, to be changed unless `is_read_only`.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(directory: &Path, is_read_only: bool) -> Result<Self, ShareError> {
        let path = directory.to_str().ok_or_else(|| ShareError::Path {
            directory: directory.to_owned(),
        })?;
        let failed = |source| ShareError::Open {
            directory: directory.to_owned(),
            source,
        };
        let config = Config {
            root_dir: path.to_owned(),
            // The host changes files beside the guest: contents are asked for anew with each open,
            // names and attributes after a second.
            cache_policy: CachePolicy::Auto,
            entry_timeout: CACHED,
            attr_timeout: CACHED,
            xattr: true,
            do_import: false,
            ..Config::default()
        };
        let files = PassthroughFs::<()>::new(config).map_err(failed)?;
        files.import().map_err(failed)?;
        let answer: Box<dyn Answer> = match is_read_only {
            true => Box::new(Server::new(ReadOnly(files))),
            false => Box::new(Server::new(files)),
        };
        Ok(Self { answer })
    }

    /// Takes one VMM's call and serves its guest until it hangs up.
    ///
    /// # Errors
    /// When the VMM speaks otherwise than expected.
    pub fn serve(self, listener: UnixListener) -> Result<(), ShareError> {
        let failed = |action| {
            move |error: vhost_user_backend::Error| ShareError::Device {
                action,
                reason: error.to_string(),
            }
        };
        let memory = GuestMemoryAtomic::new(GuestMemoryMmap::new());
        let device = Device::new(self.answer);
        let mut daemon = VhostUserDaemon::new("share".to_owned(), device, memory)
            .map_err(failed("start a device"))?;
        daemon
            .start(&mut listener.into())
            .map_err(failed("hear the machine"))?;
        match daemon.wait() {
            Err(vhost_user_backend::Error::HandleRequest(
                vhost::vhost_user::Error::Disconnected
                | vhost::vhost_user::Error::PartialMessage
                | vhost::vhost_user::Error::SocketBroken(_),
            )) => Ok(()),
            ended => ended.map_err(failed("go on hearing the machine")),
        }
    }
}

/// How long a guest believes names and attributes without asking again.
const CACHED: std::time::Duration = std::time::Duration::from_secs(1);
