//! EROFS images: written, read, verified and dumped.
//!
//! ```
//! use std::io::Cursor;
//!
//! use erofs_writer::{Image, ImageWriter, Options};
//! use fstree::{FileKind, Inode, Metadata, Name, Tree};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut writer = ImageWriter::new(Cursor::new(Vec::new()), Options::default())?;
//! let run = writer.append(&mut &b"hello\n"[..], 6)?.ok_or("six bytes take a block")?;
//!
//! let mut tree = Tree::new(Metadata::directory(0o755));
//! let hello = tree.add(Inode {
//!     metadata: Metadata::with_mode(0o644),
//!     kind: FileKind::Regular(run.whole_file(6)),
//! });
//! tree.link(tree.root(), Name::new(b"hello")?, hello);
//! let (out, summary) = writer.finish(&tree)?;
//! assert_eq!(summary.inodes, 2);
//!
//! let image = Image::open(out.into_inner())?;
//! assert_eq!(image.read_tree()?, tree);
//! image.verify()?;
//! # Ok(())
//! # }
//! ```
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
pub use error::{InvalidInode, InvalidOptions, WriteError};
pub use fstree::{BLOCK_SIZE_BYTES, Extent, FileData, ReadAt, Run};
pub use read::{Corrupt, FileReader, Image, OpenError, ReadError, Superblock, Unsupported};
pub use verify::{Report, VerifyError};
pub use write::{ImageWriter, Options, Summary};
