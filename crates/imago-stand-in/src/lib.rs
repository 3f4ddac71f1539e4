//! The disks of libkrun: a stand-in for the crate of this name.
//!
//! libkrun's devices open disks by themselves, through the names of the crate `imago` 0.2, and take no
//! disk that is open already. `[patch.crates-io]` puts this crate in the place of that one. It has the
//! names that krun-devices 1.19.7 uses, and no others, and it was written anew.
//!
//! | disk | is |
//! |---|---|
//! | raw | a file, which may be written |
//! | registered | any [`served_disk::Disk`] that [`register`] was given; libkrun opens its path as a raw disk |
//! | VMDK, qcow2 | refused |
//!
//! ```no_run
//! # fn disk() -> Box<dyn served_disk::Disk + Send> { unimplemented!() }
//! let registered = imago::register(disk())?;
//! // libkrun is told to open this path, as a raw disk, while the value lives.
//! let path = registered.path();
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! `compare/` is a workspace of its own, in which the published crate is beside this one: the same
//! requests have to make the same file, and their times are printed.
//!
//! libkrun has a thread for each disk and carries out one request after the other, so there is no
//! runtime here and no thread. A request that does not lie on the disk is an error, and so is each
//! change of a disk that was opened to be read: libkrun leaves both to this crate.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod access;
mod called_disk;
pub mod file;
mod flat_file;
mod image;
pub mod io_buffers;
pub mod qcow2;
pub mod raw;
mod registry;
mod storage;
pub mod vmdk;

pub use access::{FormatAccess, SyncFormatAccess};
pub use registry::{Registered, register};
pub use storage::{DynStorage, Storage, StorageOpenOptions};
pub use vmdk::{FormatDriverBuilder, PermissiveImplicitOpenGate};
