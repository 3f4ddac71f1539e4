//! What a sandbox's files are before its first boot, where they are not its image's.
//!
//! The changes are made to the image's tree, as values; what then differs goes into the upper disk
//! as overlayfs would have written it. No machine is needed, and nothing of the image is copied.

mod apply;
mod error;
mod host_file;
mod hosts;
mod import;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub(crate) use apply::Patched;
pub use error::PatchError;
pub(crate) use host_file::NewFile;
pub use hosts::HostEntry;

/// Changes of an image's files, made in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patches {
    /// Paths that go, with all that is below them.
    pub remove: Vec<String>,
    /// Directories that are to be there.
    pub make: Vec<NewDirectory>,
    /// Files of this host that come in.
    pub copy: Vec<HostCopy>,
    /// Names that the sandbox's `/etc/hosts` has beside its own.
    pub hosts: Vec<HostEntry>,
}

/// A directory that is to be there, and those that lead to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDirectory {
    /// Its path in the sandbox.
    pub path: String,
    /// Its twelve permission bits; else 0755, or what they are.
    pub mode: Option<u16>,
}

/// A file or a directory of this host that is copied in as `docker cp` does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCopy {
    /// Its path here.
    pub source: PathBuf,
    /// Where it goes.
    pub destination: String,
    /// User and group of all that is copied.
    pub owner: (u32, u32),
}

impl Patches {
    /// Whether the sandbox's files are its image's.
    pub(crate) fn change_no_file(&self) -> bool {
        self.remove.is_empty() && self.make.is_empty() && self.copy.is_empty()
    }
}
