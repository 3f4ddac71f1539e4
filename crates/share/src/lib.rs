//! Directories and files of the host that a guest sees over virtio-fs, served to a VMM that leaves the device's
//! queues to another process (vhost-user).
//!
//! ```text
//! guest ── FUSE over virtqueues in its memory ──> this process ── system calls ──> the files
//! VMM   ── where those queues lie, once ────────>
//! ```
//!
//! One device has any number of them: each is an entry of its root directory. A file is shared alone, without
//! what lies beside it.
//!
//! The requests are a hostile guest's. They are answered by `fuse-backend-rs`, which opens every name by
//! itself and follows no symlink. In front of it, names that lead elsewhere are refused, for read-only entries
//! whatever changes a file, and what the [`Permissions`] of a path do not permit. Around them stands the jail of
//! whoever calls this: [`Share::open`] opens what lies outside of the entries, so the jail goes on between it
//! and [`Share::serve`].
//!
//! A permission may ask the user. The request is set aside then, and others are answered meanwhile:
//!
//! ```text
//! request ── needs an answer ──> Asker::ask        the next requests are answered
//!         <── answered anew ──── Answers::answer
//! ```
//!
//! A guest gets its answers in another order than that of its requests, as virtqueues allow.

mod access;
mod answers;
mod asking;
mod bounds;
mod device;
mod gate;
mod grants;
mod listing;
mod names;
mod opened;
mod paths;
mod permissions;
mod request;
mod root;
mod ruled;
#[cfg(test)]
mod tests;
mod waiting;

use std::ffi::CString;
use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fuse_backend_rs::api::server::Server;
use vhost_device::ServeError;

use crate::asking::Asking;
use crate::device::Device;
use crate::gate::Gate;
use crate::opened::Opened;
use crate::root::{Root, RootEntry};
use crate::ruled::Ruled;

pub use crate::access::{Access, Asker, PathAccess};
pub use crate::answers::Answers;
pub use crate::permissions::{Permission, Permissions};

/// The time for which a guest believes names and attributes without asking again.
const CACHED: std::time::Duration = std::time::Duration::from_secs(1);

/// Something of the host that a guest is to see.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its name in the device's root directory.
    pub name: &'a str,
    /// The path on the host, without symlinks.
    pub path: &'a Path,
    /// The kind of the shared file.
    pub kind: Kind,
}

/// The kinds of files that can be shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A directory, with all that is in it.
    Directory,
    /// A regular file: the one that has the name when it is opened, also when another has it later.
    File,
    /// A regular file that the guest uses as a disk: its length and its attributes stay.
    Disk,
}

/// The reason why a file is not shared, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// It cannot be opened.
    #[error("cannot open {}", .path.display())]
    Open {
        /// The path of the file.
        path: PathBuf,
        /// The error of the host.
        #[source]
        source: io::Error,
    },
    /// The vhost-user connection to the VMM failed.
    #[error(transparent)]
    Device(#[from] ServeError),
}

/// The entries of a device, opened.
pub struct Share {
    device: Device,
    opened: Vec<Opened>,
}

impl std::fmt::Debug for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Share").finish_non_exhaustive()
    }
}

impl Share {
    /// Opens all `entries`, to be changed unless `is_read_only`. Each is opened by its path once, and no symlink
    /// on that is followed.
    ///
    /// # Errors
    /// The first that cannot be opened.
    pub fn open(entries: &[Entry<'_>], is_read_only: bool) -> Result<Self, ShareError> {
        Self::open_with(entries, is_read_only, |_| None, None)
    }

    /// Opens all `entries`, as [`open`](Self::open) does, with the permissions that `permissions` returns for the
    /// number of each, from 0. Without permissions, every path of an entry has all. `asker` is asked where a permission
    /// says so; without one, such accesses are denied.
    ///
    /// # Errors
    /// The first that cannot be opened.
    pub fn open_with(
        entries: &[Entry<'_>],
        is_read_only: bool,
        mut permissions: impl FnMut(usize) -> Option<Box<dyn Permissions>>,
        asker: Option<Box<dyn Asker>>,
    ) -> Result<Self, ShareError> {
        let asking = Arc::new(Asking::new(asker));
        let mut all = Vec::new();
        let mut root = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let failed = |source| ShareError::Open {
                path: entry.path.to_owned(),
                source,
            };
            let (opened, files) = Opened::open(entry, is_read_only).map_err(failed)?;
            let name = CString::new(entry.name).map_err(|error| failed(error.into()))?;
            all.push(opened);
            let gate = permissions(index).map(|permissions| {
                Gate::new(index, is_read_only, permissions, Arc::clone(&asking))
            });
            root.push(RootEntry {
                name,
                is_directory: entry.kind == Kind::Directory,
                files: Ruled::new(files, gate),
            });
        }
        Ok(Self {
            device: Device::new(Box::new(Server::new(Root(root))), asking),
            opened: all,
        })
    }

    /// Returns the way to answer the questions of the share.
    pub fn answers(&self) -> Answers {
        Answers(self.device.clone())
    }

    /// Paths that lead this process to what is open, whatever has its names by now, each with what it is.
    pub fn paths(&self) -> impl Iterator<Item = (PathBuf, Kind)> + '_ {
        self.opened
            .iter()
            .map(|opened| (opened.path(), opened.kind()))
    }

    /// Accepts one connection of a VMM and serves its guest until it closes. Threads continue to
    /// run until the process ends.
    ///
    /// # Errors
    /// If the VMM violates the vhost-user protocol.
    pub fn serve(self, listener: UnixListener) -> Result<(), ShareError> {
        Ok(self.device.with_queues().serve("share", listener)?)
    }
}
