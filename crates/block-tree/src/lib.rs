//! Trees of files, which prove any range of a file against the file's BLAKE3 checksum.
//!
//! BLAKE3 is a tree hash: the checksum of a file is made of the values of its parts. A tree keeps the value of each
//! block of 4 KiB in a *sidecar*, a file beside the file. The values lead to the checksum that `b3sum` prints, so
//! whoever knows that checksum needs to trust neither the sidecar nor the place that a range comes from.
//!
//! ```
//! use std::io::Cursor;
//!
//! use block_tree::{BlockTree, TreeWriter};
//!
//! let bytes = vec![7; 100_000];
//! let mut writer = TreeWriter::new(Cursor::new(Vec::new()))?;
//! for piece in bytes.chunks(1000) {
//!     writer.update(piece)?;
//! }
//! let (sidecar, content) = writer.finish()?;
//! assert_eq!(content.blake3, *blake3::hash(&bytes).as_bytes());
//!
//! let tree = BlockTree::open(sidecar.into_inner(), &content)?;
//! tree.verify(8192, &bytes[8192..20_480])?;
//! assert!(tree.verify(8192, &[8; 4096]).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//! sidecar   magic | length of the file | length of a block | 0 | value of block 0 | value of block 1 | ...
//! memory    value of group 0 (blocks 0 to 15) | value of group 1 | ...
//! ```
//!
//! A [`TreeWriter`] makes the sidecar while the file is written, a [`HeadLastWriter`] also if the file's first block is
//! written last. Both hold at most 64 KiB. A [`BlockTree`] holds the values of groups of 64 KiB, 1/2,048 of the file,
//! and reads the values of blocks as they are needed. An aligned group is verified by one value, which costs a
//! quarter as much a byte as a single block does.
//!
//! A sidecar that was changed, cut or made for another file is refused when it is opened. Nothing here opens files.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod error;
mod header;
mod levels;
mod tree;
mod value;
mod write;

pub use error::{OpenError, VerifyError};
pub use header::sidecar_bytes;
pub use tree::BlockTree;
pub use value::{BLOCK_BYTES, Content, GROUP_BYTES};
pub use write::{HeadLastWriter, TreeWriter};
