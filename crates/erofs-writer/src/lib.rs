//! EROFS images: written, read, verified and dumped.
//!
//! ```
//! use std::io::Cursor;
//!
//! use erofs_writer::{Builder, Image, Options};
//! use fstree::Metadata;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut builder = Builder::new(Cursor::new(Vec::new()), Options::default())?;
//! builder.file("srv/hello", Metadata::with_mode(0o644), &mut &b"hello\n"[..])?;
//! let (out, summary) = builder.finish()?;
//! assert_eq!(summary.inodes, 3);
//!
//! let image = Image::open(out.into_inner())?;
//! image.verify()?;
//! let files = image.files()?;
//! assert_eq!(files.read("srv/hello")?, b"hello\n");
//! assert_eq!(files.read_dir("srv")?.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! [`Builder`] writes an image from paths, and [`Image::files`] reads one by path. Below them,
//! [`ImageWriter`] takes content as it streams by and then a whole [`Tree`](fstree::Tree).
//!
//! The layout of the image:
//!
//! ```text
//! block 0     1 KiB of zeros, superblock, device table
//!             (further blocks of the device table)
//!             file data, in the order it was appended
//! meta        inodes, each with its xattrs, its chunk map or the end of its content
//!             directory blocks and symlink targets that do not fit there
//! xattr       xattrs that several inodes have
//!             (the devices, where images are read as one disk)
//! ```
//!
//! Data streams through once and is never held in memory. The metadata follows it, and the
//! superblock is written last. The same input gives the same bytes: no clock is read, and where the
//! tree leaves an order open, sorting decides. `docs/formats/erofs.md` describes every byte.
//!
//! Limits: 4 KiB blocks, 2^32 - 1 of them over all devices; 65,535 devices; symlink targets of 4095
//! bytes; xattr values of 65,535 bytes, 262,148 in all per inode; 2^24 chunks per sparse file. The
//! reader supports what the writer writes, and what `mkfs.erofs` writes without compression in
//! blocks of 512 to 4096 bytes; the rest is [`Unsupported`]. Its memory and time are proportional
//! to the image's size, whatever the image says.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod block_size;
mod checksum;
mod device;
mod dirent;
mod dump;
mod error;
mod format;
mod inode;
mod length;
mod read;
mod region;
mod verify;
mod write;
mod xattr;

pub use device::DeviceSlot;
pub use dump::DumpError;
pub use error::{BuildError, InvalidInode, InvalidOptions, WriteError};
pub use fstree::{BLOCK_SIZE_BYTES, Extent, FileData, ReadAt, Run};
pub use read::{
    Corrupt, FileReader, Files, Image, OpenError, READ_MAX_BYTES, ReadError, Superblock,
    Unsupported,
};
pub use verify::{Report, VerifyError};
pub use write::{Builder, ImageOutput, ImageWriter, Options, OutputFile, Summary};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
