//! A host directory that a guest sees over virtio-fs, served to a VMM that leaves the device's queues to
//! another process (vhost-user).
//!
//! ```text
//! guest ── FUSE over virtqueues in its memory ──> this process ── system calls ──> the directory
//! VMM   ── where those queues lie, once ────────>
//! ```
//!
//! The requests are a hostile guest's. They are answered by `fuse-backend-rs`, which opens every name by
//! itself and follows no symlink. In front of it, names that lead elsewhere are refused, and for a
//! read-only directory whatever changes a file. Around both stands the jail of whoever calls this:
//! [`Share::open`] opens what lies outside of the directory, so the jail goes on between it and
//! [`Share::serve`].

mod bounds;
mod device;
mod names;
#[cfg(test)]
mod tests;

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use fuse_backend_rs::api::filesystem::{FileSystem as _, FsOptions};
use fuse_backend_rs::api::server::Server;
use fuse_backend_rs::passthrough::{CachePolicy, Config, PassthroughFs};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use vhost_user_backend::VhostUserDaemon;
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

use crate::bounds::Bounded;
use crate::device::{Answer, Device};

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
    root: OwnedFd,
}

impl std::fmt::Debug for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Share").finish_non_exhaustive()
    }
}

impl Share {
    /// Opens `directory`, to be changed unless `is_read_only`. It is opened by its path once, and no
    /// symlink on that is followed: who may write to a directory above it cannot put another in its place.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(directory: &Path, is_read_only: bool) -> Result<Self, ShareError> {
        let failed = |source| ShareError::Open {
            directory: directory.to_owned(),
            source,
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat2(
            CWD,
            directory,
            flags,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS,
        );
        let root = root.map_err(|error| failed(error.into()))?;
        let config = Config {
            root_dir: path_of(&root),
            // The host changes files beside the guest: contents are asked for anew with each open,
            // names and attributes after a second.
            cache_policy: CachePolicy::Auto,
            entry_timeout: CACHED,
            attr_timeout: CACHED,
            xattr: true,
            killpriv_v2: true,
            // A number of the library's own for a file would be kept for ever, and the file forgotten.
            use_host_ino: true,
            // With it, the library judges names too, and takes only such options as it is told.
            do_import: true,
            ..Config::default()
        };
        let files = PassthroughFs::<()>::new(config).map_err(failed)?;
        // It opens the root. No guest's `init` gets that far.
        files.init(FsOptions::HANDLE_KILLPRIV_V2).map_err(failed)?;
        let files = Bounded {
            files,
            is_read_only,
        };
        Ok(Self {
            answer: Box::new(Server::new(files)),
            root,
        })
    }

    /// A path that leads this process to the directory that is open, whatever has its name by now.
    pub fn path(&self) -> PathBuf {
        path_of(&self.root).into()
    }

    /// Takes one VMM's call and serves its guest until it hangs up. Threads of it go on for as long as the
    /// process does.
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
        let daemon = VhostUserDaemon::new("share".to_owned(), device, memory)
            .map_err(failed("start a device"))?;
        // To drop it is to wait for a thread that may be at work on what it cannot finish.
        let mut daemon = ManuallyDrop::new(daemon);
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

/// By what an open directory can be named in its own process. The dot at its end makes it the directory,
/// also for who follows no symlink.
fn path_of(directory: &OwnedFd) -> String {
    format!("/proc/self/fd/{}/.", directory.as_raw_fd())
}

/// How long a guest believes names and attributes without asking again.
const CACHED: std::time::Duration = std::time::Duration::from_secs(1);
