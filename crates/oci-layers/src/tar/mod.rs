//! A pull parser for tar: v7, ustar, STAR, GNU and PAX, read as Go's `archive/tar` reads them.

mod entries;
mod gnu_long;
mod header;
mod number;
mod pax;
mod sparse;
mod stream;

pub use entries::{Content, Entries, Entry, EntryKind};
pub use sparse::Segment;

/// Everything in a tar is in blocks of this many bytes.
pub const BLOCK_BYTES: usize = 512;
