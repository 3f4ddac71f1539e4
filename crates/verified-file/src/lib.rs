//! Files whose every read is verified by their trees.
//!
//! A verified file has content that never changes, such as a layer of an image. Its [tree](block_tree) proves each block
//! of 4 KiB. A read compares the blocks that it needs, and hands out no others. A block that does not verify may be a
//! hole, a torn write, or decay of the medium, and it is treated alike in all cases:
//!
//! 1. the file is read again, [`READS`] times in all;
//! 2. each [`Source`] is asked for the block, in order;
//! 3. the read fails, and the block is reported, once.
//!
//! So a file may be incomplete, and a source need not be trusted.
//!
//! ```
//! use std::io::Cursor;
//!
//! use verified_file::VerifiedFile;
//! use block_tree::{BlockTree, TreeWriter};
//! use fstree::ReadAt;
//!
//! let mut bytes = vec![7; 10_000];
//! let mut writer = TreeWriter::new(Cursor::new(Vec::new()))?;
//! writer.update(&bytes)?;
//! let (sidecar, content) = writer.finish()?;
//! let tree = BlockTree::open(sidecar.into_inner(), &content)?;
//!
//! bytes[5000] ^= 1;
//! let file = VerifiedFile::new("the layer", bytes, tree)?.with_log(|failure| eprintln!("{failure}"));
//! let mut buffer = [0; 100];
//! file.read_exact_at(&mut buffer, 3996)?;
//! assert!(file.read_exact_at(&mut buffer, 4090).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A read that fails leaves zeros in the place of the block that does not verify.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod error;
mod failures;
mod file;
mod source;

pub use error::{LengthError, ReadError};
pub use failures::FAILURES_MAX;
pub use file::{READS, VerifiedFile};
pub use source::Source;
