//! Changes to the image's files that a sandbox has before its first boot.
//!
//! The changes are made to the image's tree as a value; the differences then go into the upper disk
//! as overlayfs would have written them. No machine is needed, and nothing of the image is copied.
//!
//! Paths of copies mean what they mean in `docker cp` ([`copy_path`]), here and in copies of other crates.

mod apply;
mod copy_error;
pub mod copy_path;
mod error;
mod host_file;
mod hosts;
mod import;
pub mod local;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use apply::{OwnMounts, Patched};
pub use copy_error::CopyPathError;
pub use error::PatchError;
pub use host_file::{Identity, NewFile};
pub use hosts::HostEntry;

/// Changes to an image's files, in the order in which they are made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patches {
    /// Paths to remove, with everything below them.
    pub remove: Vec<String>,
    /// Directories to create.
    pub make: Vec<NewDirectory>,
    /// Files of the host to copy.
    pub copy: Vec<HostCopy>,
    /// Files to write; they replace the image's.
    pub write: Vec<NewContent>,
    /// Lines that the sandbox's `/etc/hosts` has in addition to its own.
    pub hosts: Vec<HostEntry>,
}

/// A directory to create, with the missing directories above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDirectory {
    /// The directory's path in the sandbox.
    pub path: String,
    /// The 12 permission bits. If `None`, a new directory has 0755 and an existing one keeps its
    /// bits.
    pub mode: Option<u16>,
}

/// A file to write, and the missing directories above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewContent {
    /// The file's path in the sandbox.
    pub path: String,
    /// The file's content.
    pub bytes: Vec<u8>,
    /// The 12 permission bits of the file. The directories have 0755.
    pub mode: u16,
    /// User id and group id of the file, and of the directories that are made for it.
    pub owner: (u32, u32),
}

/// A file or directory of the host to copy, with the rules of `docker cp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCopy {
    /// The path on the host.
    pub source: PathBuf,
    /// The destination in the sandbox.
    pub destination: String,
    /// User id and group id of all copied files.
    pub owner: (u32, u32),
}

impl Patches {
    /// Returns true if no change concerns the image's files.
    pub fn change_no_file(&self) -> bool {
        self.remove.is_empty()
            && self.make.is_empty()
            && self.copy.is_empty()
            && self.write.is_empty()
    }
}
