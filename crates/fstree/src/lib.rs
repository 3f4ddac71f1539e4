//! A filesystem as a value.
//!
//! A [`Tree`] is the common form of a tar archive, an EROFS or ext4 image and a mounted directory:
//! inodes in an arena, directories that name them, and hard links as several names of one inode. It
//! holds metadata only. The content of a regular file depends on where the tree is stored, so the
//! tree is generic over it: bytes in memory, extents on a device ([`FileData`]), a digest.
//!
//! A [`TreeBuilder`] makes a tree from paths, and a tree is read by path with the words of
//! `std::fs`: [`Tree::read_dir`], [`Tree::metadata`], [`Tree::read_link`], [`Tree::file`].
//!
//! ```
//! use fstree::{Metadata, TreeBuilder};
//!
//! let mut builder = TreeBuilder::new(Metadata::directory(0o755));
//! builder
//!     .file("srv/hello", Metadata::with_mode(0o644), b"hello\n".to_vec())?
//!     .hard_link("srv/hello-again", "srv/hello")?
//!     .symlink("hello", Metadata::with_mode(0o777), "srv/hello")?;
//! let tree = builder.finish();
//! assert_eq!(tree.file("hello")?, b"hello\n");
//! let hello = tree.resolve("hello")?;
//! assert_eq!(tree.link_counts()[hello.index()], 2);
//! # Ok::<(), fstree::PathError>(())
//! ```

#![forbid(unsafe_code)]

mod data_sink;
mod file_data;
mod inode;
mod links;
mod metadata;
mod name;
mod path_error;
mod paths;
mod read_at;
mod segment;
mod tree;
mod tree_builder;
mod walk;
mod xattr_value;
mod xattrs;

pub use data_sink::DataSink;
pub use file_data::{BLOCK_SIZE_BYTES, Extent, FileData, Run};
pub use inode::{Device, Directory, FileKind, FileType, Inode};
pub use links::{Link, Links};
pub use metadata::{Metadata, Timestamp};
pub use name::{InvalidName, NAME_MAX_BYTES, Name};
pub use path_error::PathError;
pub use paths::SYMLINKS_MAX;
pub use read_at::ReadAt;
pub use segment::Segment;
pub use tree::{InodeId, Tree};
pub use tree_builder::TreeBuilder;
pub use walk::{Walk, WalkEntry};
pub use xattr_value::is_xattr_value;
pub use xattrs::{Xattrs, XattrsIter};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
