//! File trees as tar archives: packed from a directory, unpacked below one.
//!
//! ```
//! use std::fs::{self, File};
//!
//! use rustix::fd::AsFd as _;
//! use tree_archive::{ArchiveWriter, PackOptions, Place, UnpackOptions, pack, unpack};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (from, to) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! fs::create_dir(from.path().join("docs"))?;
//! fs::write(from.path().join("docs/hello"), "hello")?;
//!
//! let parent = File::open(from.path())?;
//! let place = Place { directory: parent.as_fd(), name: b"docs" };
//! let mut archive = ArchiveWriter::new(Vec::new());
//! pack(place, &PackOptions::named(b"copy"), &mut archive)?;
//! let tar = archive.finish()?;
//!
//! unpack(&tar[..], File::open(to.path())?.as_fd(), &UnpackOptions::default())?;
//! assert_eq!(fs::read(to.path().join("copy/hello"))?, b"hello");
//! # Ok(())
//! # }
//! ```
//!
//! What is packed: all kinds of files but sockets, hard links, holes (as PAX 1.0 sparse files), times
//! to the nanosecond, `user.*` xattrs and file capabilities (as `SCHILY.xattr.*`), names of any bytes.
//!
//! What is unpacked may be hostile. Nothing is written outside the directory: names have no `..`,
//! every directory on the way is opened by itself, and without [`UnpackOptions::follow_parents`] no
//! symlink is followed, whoever made it. An existing file is replaced, never written to. Headers are
//! read into bounded memory, as those of image layers are.

mod error;
mod extents;
mod header;
mod kept;
mod pack;
mod path;
mod place;
mod unpack;
mod writer;

pub use error::{ArchiveError, LongPath, PackError, UnpackError};
pub use extents::segments;
pub use oci_layers::RawPath;
pub use oci_layers::tar::{EntryKind, Segment};
pub use pack::{PackOptions, pack};
pub use path::{PATH_MAX_BYTES, check_path};
pub use place::Place;
pub use unpack::{UnpackOptions, Unpacked, unpack};
pub use writer::{ArchiveWriter, Head};
