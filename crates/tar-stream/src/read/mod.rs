//! The reader: blocks become headers, and headers with their extensions become entries.

mod extensions;
mod header;
mod number;
mod pax;
mod reader;
mod sparse;
mod stream;

pub use reader::{ArchiveReader, Content};
