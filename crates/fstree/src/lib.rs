//! A filesystem as a value.
//!
//! A [`Tree`] is the common form of a tar archive, an EROFS or ext4 image and a mounted directory:
//! inodes in an arena, directories that name them, and hard links as several names of one inode. It
//! holds metadata only. The content of a regular file depends on where the tree is stored, so the
//! tree is generic over it: bytes in memory, extents on a device ([`FileData`]), a digest.
//!
//! ```
//! use fstree::{FileKind, Inode, Metadata, Name, Tree};
//!
//! let mut tree: Tree<Vec<u8>> = Tree::new(Metadata::directory(0o755));
//! let hello = tree.add(Inode {
//!     metadata: Metadata::with_mode(0o644),
//!     kind: FileKind::Regular(b"hello\n".to_vec()),
//! });
//! let root = tree.root();
//! tree.link(root, Name::new(b"hello")?, hello);
//! tree.link(root, Name::new(b"hello-again")?, hello);
//! assert_eq!(tree.link_counts()[hello.index()], 2);
//! # Ok::<(), fstree::InvalidName>(())
//! ```

#![forbid(unsafe_code)]

mod data_sink;
mod file_data;
mod inode;
mod links;
mod metadata;
mod name;
mod read_at;
mod segment;
mod tree;
mod walk;
mod xattrs;

pub use data_sink::DataSink;
pub use file_data::{BLOCK_SIZE_BYTES, Extent, FileData, Run};
pub use inode::{Device, Directory, FileKind, FileType, Inode};
pub use links::{Link, Links};
pub use metadata::{Metadata, Timestamp};
pub use name::{InvalidName, NAME_MAX_BYTES, Name};
pub use read_at::ReadAt;
pub use segment::Segment;
pub use tree::{InodeId, Tree};
pub use walk::{Walk, WalkEntry};
pub use xattrs::{Xattrs, XattrsIter};
