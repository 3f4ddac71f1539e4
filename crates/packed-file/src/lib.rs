//! A file in compressed frames, read at random offsets and proven against the checksum of its plain bytes.
//!
//! ```
//! use fstree::ReadAt;
//! use packed_file::{PackedFile, pack};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let plain: Vec<u8> = b"a line of text\n".repeat(20_000);
//! let mut bytes = Vec::new();
//! let packed = pack(&plain[..], &mut bytes)?;
//! assert_eq!(packed.checksum, *blake3::hash(&plain).as_bytes());
//! assert!(packed.packed_bytes < 10_000);
//!
//! let file = PackedFile::open(bytes, Some(&packed.checksum))?;
//! let mut line = [0; 14];
//! file.read_exact_at(&mut line, 15 * 10_000)?;
//! assert_eq!(&line, b"a line of text");
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//! section 0     frames     of the plain file's groups of 64 KiB: zstd, or as they are; zeros have none
//!               table      the length of each frame, and the BLAKE3 value of each group
//! section 1     ...        a section has 4,096 groups, 256 MiB of the plain file
//! directory     the offset of each section's table, and the section's BLAKE3 value
//! end record    sizes, the checksum of the plain bytes, a seal, the version
//! ```
//!
//! `docs/formats/packed-file.md` describes the fields.
//!
//! BLAKE3 is a tree: the values of the groups lead to those of the sections, and these to the checksum of
//! the plain bytes. So the checksum alone proves every group, and a reader who knows it need not trust the
//! file or the place that it comes from. A group that is not proven is an error, never other bytes.
//!
//! [`pack`] is a stream in both directions, and takes memory for one section. The same bytes give the same
//! file, with one version of zstd; any version reads it. [`PackedFile`] holds the directory, at most
//! 2.5 MiB, the tables of four sections, 144 KiB each, and buffers of 64 KiB. A plain file has at most
//! [`SIZE_MAX_BYTES`].
//!
//! Every byte of the file may be hostile: lengths and offsets are checked before they are used, and a frame
//! is decompressed into a buffer of its group's length. Errors name the part, its offset and the limit.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod error;
mod file;
mod format;
mod frame;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod open;
mod pack;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod value;

pub use error::{Damaged, Fault, OpenError, PackError, Part, ReadError};
pub use file::PackedFile;
pub use format::{SIZE_MAX_BYTES, TAIL_BYTES};
pub use pack::{Packed, pack};
pub use value::{GROUP_BYTES, Value};

/// Returns a length in memory as one of a file.
fn wide(length: usize) -> u64 {
    u64::try_from(length).expect("memory is shorter than 2^64 bytes")
}

/// Returns a number that is bounded by a length in memory.
fn narrow(bounded: u64) -> usize {
    usize::try_from(bounded).expect("the caller has bounded the number")
}
