//! An artifact that may be incomplete: read from a cache file, proven at the read, and fetched where it is not.
//!
//! ```
//! use std::fs::File;
//!
//! use artifact_cache::Artifact;
//! use packed_file::{PackedFile, pack};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("layer.erofs");
//! let plain = b"content of a layer ".repeat(10_000);
//! let mut packed = Vec::new();
//! let checksum = pack(&plain[..], &mut packed)?.checksum;
//!
//! // An empty cache file: all of it is a hole.
//! let cache = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
//! cache.set_len(plain.len() as u64)?;
//! let proof = PackedFile::open(packed.clone(), Some(&checksum))?;
//! let source = PackedFile::open(packed, Some(&checksum))?;
//! let artifact = Artifact::new("layer", cache, proof).with_source(source);
//!
//! let mut bytes = [0; 7];
//! artifact.read(&mut bytes, 19 * 5000)?;
//! assert_eq!(&bytes, b"content");
//! artifact.read(&mut bytes, 19 * 5001)?;
//! let counts = artifact.counts();
//! assert_eq!((counts.fetched_units, counts.reads_from_cache), (1, 1));
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//! read ── cache file ── Proof ── bytes                    the usual way: one read, one comparison
//!            │            └── not proven: a hole, a torn write, decay
//!            │                  └── one thread of one process for each unit ── Source, Source, ...
//!            └────────────── written back, without a sync ──┘                     └── error, one line in the log
//! ```
//!
//! A read is proven by a [`Proof`], which leads to the checksum of the artifact. Whatever is not proven is fetched
//! from the [`Source`]s, in their order: a block that was never there, that a power cut has torn, or that the medium
//! has changed are the same event. So the cache file needs no list of what it has, no sync and no repair, and what
//! fetches need not be trusted. Bytes that are not proven are never handed out.
//!
//! [`trim`] frees the parts that were not used for the longest time. It needs no agreement with readers: one that
//! meets a hole fetches again. [`UnitLocks`] make the processes of a host fetch a unit once; a process that hangs
//! while it holds one delays the others by some seconds at most.
//!
//! An artifact takes memory for its [`Recency`], at most 256 KiB, and two units of at most 1 MiB for each thread that
//! fetches. A source bounds its own time. The crate opens no files, and has no clock but the pauses of a wait for a
//! lock.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod artifact;
mod cache_file;
mod counts;
mod error;
mod fetch;
mod fetched;
mod flights;
mod locks;
mod notice;
mod proof;
mod recency;
mod source;
mod trim;
mod unit;

pub use artifact::Artifact;
pub use cache_file::CacheFile;
pub use counts::Counts;
pub use error::ReadError;
pub use locks::UnitLocks;
pub use notice::Notice;
pub use proof::Proof;
pub use recency::Recency;
pub use source::Source;
pub use trim::{Trimmed, trim};
pub use unit::FetchUnit;

/// Returns a length in memory as one of a file.
fn wide(length: usize) -> u64 {
    u64::try_from(length).expect("memory is shorter than 2^64 bytes")
}

/// Returns a number that is bounded by a length in memory.
fn narrow(bounded: u64) -> usize {
    usize::try_from(bounded).expect("the caller has bounded the number")
}
