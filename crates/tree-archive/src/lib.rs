//! File trees as tar archives: packed from a directory, unpacked below one.
//!
//! ```
//! use std::fs::{self, File};
//!
//! use rustix::fd::AsFd as _;
//! use tree_archive::{ArchiveWriter, PackOptions, EntryRef, UnpackOptions, pack, unpack};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (from, to) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! fs::create_dir(from.path().join("docs"))?;
//! fs::write(from.path().join("docs/hello"), "hello")?;
//!
//! let parent = File::open(from.path())?;
//! let entry = EntryRef { directory: parent.as_fd(), name: b"docs" };
//! let mut archive = ArchiveWriter::new(Vec::new());
//! pack(entry, &PackOptions::named(b"copy"), &mut archive)?;
//! let tar = archive.finish()?;
//!
//! unpack(&tar[..], File::open(to.path())?.as_fd(), &UnpackOptions::default())?;
//! assert_eq!(fs::read(to.path().join("copy/hello"))?, b"hello");
//! # Ok(())
//! # }
//! ```
//!
//! Archives carry all kinds of files except sockets. They also carry hard links, holes (as PAX 1.0
//! sparse files), times to the nanosecond, `user.*` xattrs and file capabilities (as
//! `SCHILY.xattr.*`), and names of any bytes.
//!
//! An unpacked archive may be hostile. Nothing is written outside of the destination: names have no
//! `..`, every directory on the path is opened separately, and without
//! [`UnpackOptions::follow_parents`] no symlink is followed, not even one that existed before. An
//! existing file is replaced, never written to. Headers are read into bounded memory by
//! [`tar_stream`], the reader that also reads image layers.

#![forbid(unsafe_code)]

mod attributes;
mod entry_ref;
mod error;
mod extents;
mod kept;
mod pack;
mod path;
mod unpack;
mod user_xattrs;

pub use attributes::{enter, set_attributes, set_entry_attributes};
pub use entry_ref::EntryRef;
pub use error::{LongPath, PackError, UnpackError};
pub use extents::segments;
pub use fstree::Segment;
pub use kept::packed_xattrs;
pub use pack::{PackOptions, pack};
pub use path::{PATH_MAX_BYTES, check_path};
pub use tar_stream::{ArchiveWriter, EntryHeader, EntryKind, RawPath, ReadError, WriteError};
pub use unpack::{UnpackOptions, Unpacked, unpack};
pub use user_xattrs::user_xattrs;
