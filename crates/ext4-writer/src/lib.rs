//! ext4 images: written sparse and journaled from a tree, read, verified and dumped.
//!
//! ```
//! use ext4_writer::{Builder, Image, Options};
//! use fstree::Metadata;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut builder = Builder::new();
//! builder.file("srv/hello", Metadata::with_mode(0o644), b"hello\n".to_vec())?;
//! let file = tempfile::tempfile()?;
//! let size_bytes = 64 << 20;
//! builder.write(&Options { size_bytes, ..Options::default() }, &file)?;
//!
//! let image = Image::open(file)?;
//! image.verify()?;
//! let files = image.files()?;
//! assert_eq!(files.read("srv/hello")?, b"hello\n");
//! assert_eq!(files.read_dir("srv")?.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! [`Builder`] writes an image from paths, and [`Image::files`] reads one by path. Below them,
//! [`write()`] takes a whole [`Tree`](fstree::Tree). A [`Layout`] tells the places of files whose content
//! stays outside of the image.
//!
//! A written image has the form that `mke2fs -O ^resize_inode -E lazy_itable_init=1` produces.
//! Every inode table is marked as zeroed, which is true of a new sparse file, so the kernel
//! initialises nothing in the background. Only the bytes that must exist are written.
//!
//! ```text
//! group 0:  superblock | descriptors | bitmaps and inode tables of 16 groups | journal | data
//! group n:  (copies of superblock and descriptors, where n is 1 or a power of 3, 5, 7)
//! ```
//!
//! The reader supports more than is written: the ext2, ext3 and ext4 filesystems that `mke2fs`
//! makes, and the changes that the kernel makes to them in use. The journal of an image that was
//! not unmounted is replayed in memory. [`Unsupported`] lists the exceptions: encryption,
//! fs-verity, case folding, shared blocks, xattrs that fill inodes, external journals, fast commits
//! to replay. Reading takes time in proportion to the image, and at most [`METADATA_MAX_BYTES`] of
//! memory or the limit of [`Image::open_within`], whatever the image contains. `docs/formats/ext4.md` describes the format.
//!
//! Fields are named as in `struct ext4_super_block` and the other structures of fs/ext4/ext4.h and
//! include/linux/jbd2.h.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod acl;
mod builder;
mod checksum;
mod content;
mod directory;
mod dump;
mod error;
mod extent;
mod features;
mod format;
mod geometry;
mod inode;
mod layout;
mod length;
mod options;
mod output;
mod outside;
mod plan;
mod read;
mod space;
mod superblock;
mod verify;
mod write;
mod xattr;

pub use builder::Builder;
pub use content::{FileContent, OpenedContent};
pub use dump::DumpError;
pub use error::{BuildError, InvalidInode, WriteError};
pub use layout::Layout;
pub use options::{Options, SIZE_MAX_BYTES, SIZE_MIN_BYTES};
pub use output::SparseOutput;
pub use outside::OutsideRun;
pub use read::{
    Corrupt, Extent, FileData, FileReader, Files, Image, METADATA_MAX_BYTES, OpenError,
    READ_MAX_BYTES, ReadAt, ReadError, Superblock, Unsupported,
};
pub use verify::{Report, VerifyError};
pub use write::{Summary, write};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
