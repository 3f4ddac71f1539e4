//! A snapshot of a disk as one file: written and read as a stream, sealed.
//!
//! ```
//! use snapshot_file::{ArchiveReader, DiskRuns, write};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut disk = vec![0; 1 << 20];
//! disk[8192..8197].copy_from_slice(b"hello");
//! let runs = DiskRuns::find(&disk, [std::io::Result::Ok((0, 1 << 20))])?;
//! assert_eq!(runs.data_bytes(), 4096);
//! let archive = write(Vec::new(), b"{}", &disk, &runs, &[])?;
//!
//! let mut reader = ArchiveReader::open(&archive[..])?;
//! assert_eq!(reader.record()?, b"{}");
//! let size = reader.disk()?;
//! assert_eq!((size.size_bytes, size.data_bytes), (1 << 20, 4096));
//! let mut copy = vec![0; 1 << 20];
//! reader.content(&mut |offset_bytes, bytes| {
//!     let at = usize::try_from(offset_bytes).expect("a small disk");
//!     copy[at..at + bytes.len()].copy_from_slice(bytes);
//!     Ok(())
//! })?;
//! reader.finish()?;
//! assert_eq!(copy, disk);
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//! zstd frame           a tar, with the checksum of its content
//!   snapshot.json      the record: bytes that this crate does not look into
//!   disk.img           the disk, a sparse file in GNU tar's format 1.0
//!   staged-0.erofs     images of the staged directories, if there are some
//!   checksums.json     the SHA-256 of each of them
//! skippable frame      the SHA-256 of every byte before it
//! ```
//!
//! GNU tar and zstd read the file as an archive: `docs/formats/snapshot-file.md` describes it.
//!
//! Every byte that is read may be hostile. A reader holds the record, at most 16 MiB, the list of at most
//! 16,384 runs of data, and one piece of 64 KiB; the window of the compression is at most 8 MiB. What it
//! hands out is proven only by [`ArchiveReader::finish`]: the caller discards it if that fails.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod checksums;
mod error;
mod hashed;
mod part;
mod read;
mod runs;
mod trailer;
mod write;

pub use error::{ReadError, WriteError};
pub use part::Part;
pub use read::{ArchiveReader, DiskSize};
pub use runs::DiskRuns;
pub use write::write;

/// The largest length of a record, in bytes. A command and its environment have at most 1 MiB.
const RECORD_MAX_BYTES: u64 = 16 << 20;
/// The unit in which zeros are looked for, in bytes.
const BLOCK_BYTES: u64 = 4096;
/// The size of a disk is a multiple of this, in bytes.
const SECTOR_BYTES: u64 = 512;
/// The largest size of a disk, in bytes: that of a disk of generations.
const DISK_MAX_BYTES: u64 = 16 << 40;
/// Bytes of content that are copied at a time.
const PIECE_BYTES: usize = 64 << 10;
