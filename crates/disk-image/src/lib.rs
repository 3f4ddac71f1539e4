//! Disk images as values: raw, qcow2 and sparse VMDK, their partitions and their root filesystem, read only.
//!
//! ```
//! use disk_image::{DiskImage, Format, RootChoice, find_root};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A raw disk without a partition table, and an EROFS superblock at byte 1024.
//! let mut file = vec![0; 1 << 20];
//! file[1024..1028].copy_from_slice(&0xe0f5_e1e2_u32.to_le_bytes());
//!
//! let image = DiskImage::open(file, None)?;
//! image.check()?;
//! assert_eq!(image.format(), Format::Raw);
//! let root = find_root(&image, RootChoice::default())?;
//! assert_eq!(root.filesystem.name(), "erofs");
//! assert_eq!((root.start_bytes, root.length_bytes), (0, 1 << 20));
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//! file ── DiskImage ── bytes of the disk ── PartitionTable ── partitions ── Filesystem by its superblock
//!  qcow2: clusters, also compressed           GPT or MBR                     find_root: the one to boot
//!  VMDK:  grains, also compressed
//! ```
//!
//! An image is one file, and nothing outside of it is ever read: a qcow2 or VMDK that names another file
//! is refused, because it could name any file of the host. So is what cannot be read rightly: other
//! formats, encryption, unknown features, damaged tables. Errors say which, and where.
//!
//! Every byte may be hostile. Memory is bounded by a few mebibytes for caches and by the image's first
//! table, at most [`TABLE_MAX_BYTES`] of the file; time by what is read. [`DiskImage::check`], which takes twice that, reads all
//! tables once, which finds a truncated file before it is used.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod bytes;
mod cache;
mod error;
mod filesystem;
mod format;
mod image;
mod inflate;
mod partition;
mod qcow2;
mod root;
mod tables;
mod vmdk;

pub use error::{Corrupt, OpenError, Unsupported};
pub use filesystem::{Filesystem, ProbeError, UnusableFilesystem, probe};
pub use format::{Format, NoSuchName, UnknownFormat};
pub use image::DiskImage;
pub use partition::{Partition, PartitionError, PartitionKind, PartitionTable, Scheme};
pub use root::{Candidate, Root, RootChoice, RootError, find_root};
pub use tables::{SIZE_MAX_BYTES, TABLE_MAX_BYTES};
