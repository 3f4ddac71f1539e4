//! Helpers that the tests of several crates share.
//!
//! [`TreeDump`] says what a file system holds, one line a name, so that a mounted image, a directory
//! that another tool unpacked and a [`Tree`](fstree::Tree) can be compared as text. [`TarBuilder`]
//! writes archives byte by byte, the malformed ones too. [`RandomChanges`] changes the files of a
//! directory. [`ThreeTrees`] are a directory that a sandbox and its host edited, with the end of an apply. [`SandboxMounts`] are the disks of a sandbox in the host's kernel. [`arm64_image`] is the
//! shortest kernel. [`ForgedExt4`] is a disk that reads as gigabytes. [`ProcessDump`] is what a process can see at
//! its start. [`misfits`] are files that msb never writes. [`shell_program`] is a program of a few lines. [`peak_bytes_of_child`] measures the memory of a test. With the feature `strategies` there are
//! random layers and a naive interpreter that says what they come to; with `images` whole images as
//! blobs, layouts and archives; with `registry` a registry in the test's own process, and
//! the distribution project's as another process; with `sandboxes` sandboxes that no machine runs.

mod forged_ext4;
#[cfg(feature = "images")]
pub mod images;
mod linux_kernel;
mod misfits;
mod mounted;
mod peak_memory;
mod process_dump;
#[cfg(feature = "registry")]
pub mod push_registry;
mod random_changes;
#[cfg(feature = "registry")]
mod real_registry;
#[cfg(feature = "registry")]
pub mod registry;
#[cfg(feature = "sandboxes")]
pub mod sandboxes;
mod shell_program;
mod tar_builder;
mod three_trees;
mod tree_dump;

#[cfg(feature = "strategies")]
pub mod strategies;

pub use forged_ext4::ForgedExt4;
pub use linux_kernel::{KERNEL_DRIVERS, arm64_image};
pub use misfits::misfits;
pub use mounted::{SandboxMounts, unmount};
pub use peak_memory::{own_peak_bytes, peak_bytes_of_child, tell_own_peak};
pub use process_dump::ProcessDump;
pub use random_changes::RandomChanges;
#[cfg(feature = "registry")]
pub use real_registry::RealRegistry;
pub use shell_program::shell_program;
pub use tar_builder::{TarBuilder, TarEntry};
pub use three_trees::{
    AppliedFiles, ApplyEnd, HostFiles, SandboxChange, StagedSequence, ThreeTrees,
};
pub use tree_dump::{Content, DumpError, TreeDump};
