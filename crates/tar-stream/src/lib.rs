//! Tar archives as streams: read strictly, written as PAX.
//!
//! ```
//! use std::io::Read as _;
//!
//! use fstree::{Metadata, Segment};
//! use tar_stream::{ArchiveReader, ArchiveWriter, EntryHeader, EntryKind, Limits};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut archive = ArchiveWriter::new(Vec::new());
//! let metadata = Metadata::with_mode(0o644);
//! let header =
//!     EntryHeader { path: b"hello", kind: EntryKind::Regular, link: b"", metadata: &metadata };
//! archive.file(&header, 6, Segment::whole_file(6), &mut |_, buffer| {
//!     buffer.copy_from_slice(b"hello\n");
//!     Ok(())
//! })?;
//! let tar = archive.finish()?;
//!
//! let mut archive = ArchiveReader::new(&tar[..], Limits::default());
//! let entry = archive.next_entry()?.ok_or("one entry was written")?;
//! assert_eq!((&entry.path[..], entry.size_bytes), (&b"hello"[..], 6));
//! let mut content = String::new();
//! archive.content().read_to_string(&mut content)?;
//! assert_eq!(content, "hello\n");
//! assert!(archive.next_entry()?.is_none());
//! # Ok(())
//! # }
//! ```
//!
//! An archive is a sequence of blocks of 512 bytes:
//!
//! ```text
//! x, L, K   headers that extend the next one, each with a body padded to a block
//! header    name, mode, owner, size, time, checksum, type, link, magic (POSIX.1-2001, pax(1))
//! content   of regular files, padded to a block; of sparse files their data alone
//! ...
//! zeros     two blocks
//! ```
//!
//! [`ArchiveReader`] reads v7, ustar, STAR, GNU and PAX archives. It also reads sparse files in all
//! four formats, and xattrs in the spelling of star and of libarchive. If the formats contradict
//! each other, the reader decides like Go's `archive/tar`: GNU's names take precedence over PAX's,
//! and PAX's over the header's. It is strict: an invalid number, a malformed record and an unknown
//! type are errors, never defaults. [`ArchiveWriter`] writes ustar headers, with PAX records for
//! values that do not fit, and sparse files in format 1.0. The same entries give the same bytes.
//!
//! The archive may be hostile: every length is checked against [`Limits`] before memory is
//! allocated. A reader holds one entry, so at most a few times [`Limits::record_bytes`]. Paths are
//! bytes, as spelled in the archive; the caller has to check `..`, absolute paths and symlinks.
//!
//! [`ReadError`] has an offset, and distinguishes a stream that failed from an archive that ends
//! early, is malformed or exceeds a limit. [`WriteError`] distinguishes a failure of the output
//! from a failure of the content.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod entry;
mod error;
mod limits;
mod read;
mod write;

pub use entry::{Entry, EntryHeader, EntryKind};
pub use error::{InvalidHeader, RawPath, ReadError, WriteError};
pub use limits::{Exceeded, Limit, Limits};
pub use read::{ArchiveReader, Content};
pub use write::ArchiveWriter;

/// Bytes of a block. Every part of an archive begins at a multiple of it.
pub const BLOCK_BYTES: usize = 512;
