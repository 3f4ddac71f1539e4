//! Sparse, journaled ext4 images written from a tree.
//!
//! The image is what `mke2fs -O ^resize_inode -E lazy_itable_init=1` makes and the kernel leaves
//! alone: every inode table is marked as zeroed, which on a fresh sparse file it is, so nothing is
//! initialised in the background. Only the bytes that must exist are written.
//!
//! ```text
//! group 0:  superblock | descriptors | bitmaps and inode tables of 16 groups | journal | data
//! group n:  (copies of superblock and descriptors, where n is 1 or a power of 3, 5, 7)
//! ```
//!
//! Names: `struct ext4_super_block` and friends, fs/ext4/ext4.h and include/linux/jbd2.h.

#![warn(clippy::as_conversions)]

mod acl;
mod checksum;
mod directory;
mod error;
mod extent;
mod features;
mod format;
mod geometry;
mod inode;
mod length;
mod options;
mod output;
mod plan;
mod read;
mod space;
mod superblock;
mod verify;
mod write;
mod xattr;

pub use error::{InvalidInode, WriteError};
pub use options::{Options, SIZE_MAX_BYTES, SIZE_MIN_BYTES};
pub use output::SparseOutput;
pub use read::{
    Corrupt, Extent, FileData, FileReader, Image, OpenError, ReadAt, ReadError, Superblock,
    Unsupported,
};
pub use verify::{Report, VerifyError};
pub use write::{Summary, write};
