//! An artifact by its path, plain or packed with a cache file: opened for reads.
//!
//! An artifact is a file whose content never changes, such as a layer of an image. It has a path, a length and a
//! checksum. The file at the path is its plain form. The packed form lies beside it and has compressed frames; only
//! the files that exist say which form an artifact has. [`Opening`] opens either, so a reader does not know the form.
//!
//! ```
//! use artifact_file::{Opening, packed_path};
//! use block_tree::Content;
//! use fstree::ReadAt;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! let plain = b"a line of a layer\n".repeat(10_000);
//! let path = directory.path().join("layer.erofs");
//! let packed = packed_file::pack(&plain[..], std::fs::File::create(packed_path(&path))?)?;
//! let content = Content {
//!     length_bytes: packed.size_bytes,
//!     blake3: packed.checksum,
//! };
//!
//! let file = Opening::new(&path, content).open()?;
//! let mut line = [0; 17];
//! file.read_exact_at(&mut line, 18 * 5000)?;
//! assert_eq!(&line, b"a line of a layer");
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//! layer.erofs    the plain form: if it exists, it is read, and nothing else but the tree
//! layer.tree     the values of its blocks, of both forms
//! layer.packed   the packed form: frames of 64 KiB, each proven when it is decompressed
//! layer.cache    the groups of the packed form that were used: sparse, at the offsets of the plain form
//! ```
//!
//! | [`Verify`] | plain | packed |
//! |---|---|---|
//! | `Owner` | the bytes of the file | groups, proven; the last ones are kept in memory, and nothing is written |
//! | `Tree`, `TreeIfPresent` | blocks, proven by the tree | blocks of the cache file, proven by the tree; a group that does not verify is taken from the packed form, and kept |
//!
//! An artifact is open as long as its files are: a change of its form removes names, not open files. A cache file
//! that cannot be made or written, for example because the disk is full, makes reads slower and no read fail.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod cache;
mod error;
mod file;
mod opening;
mod packed_reader;
mod paths;

pub use error::OpenError;
pub use file::{ArtifactFile, Report};
pub use opening::{Opening, Verify};
pub use packed_reader::PackedReader;
pub use paths::{cache_path, packed_path, tree_path};
