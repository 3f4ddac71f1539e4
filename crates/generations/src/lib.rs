//! A disk as sparse files of one generation each: cut, fork, rollback and merge without copies.
//!
//! A disk is a list of immutable generations and one head that takes the writes. A map in memory
//! says for each block of 4 KiB which of them has it, so that reading and writing cost the same at
//! every number of generations. A cut seals the head and begins another one; a fork is a new head
//! over the same list; a snapshot is the list itself, a [`State`].
//!
//! ```
//! use generations::{FileStorage, Pool};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! let pool = Pool::new(FileStorage::open(directory.path())?);
//! let id = pool.new_disk_id()?;
//! pool.create_disk(id, 1 << 30)?;
//!
//! let mut disk = pool.open_disk(id)?;
//! disk.write(b"before", 0)?;
//! let state = disk.cut()?;
//! disk.write(b"after!", 0)?;
//! disk.flush()?;
//!
//! let fork = pool.new_disk_id()?;
//! pool.fork(&state, &[fork])?;
//! let mut bytes = [0; 6];
//! pool.open_disk(fork)?.read(&mut bytes, 0)?;
//! assert_eq!(&bytes, b"before");
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//! generation 1   |aaaaaaaaaaaaaaaa|   sealed: an adopted raw disk, or the first cut
//! generation 2   |  bb     b      |   sealed: the blocks that changed until the second cut
//! head           |   c         cc |   written in place, its blocks listed in a log
//! map            |1123111112111331|   which of them has each block
//! ```
//!
//! Changes are durable after [`Disk::flush`]. After a power cut a disk is as it was at some moment not
//! before the last flush that succeeded, as a raw file would be, and a kept state is unchanged. Every
//! list is sealed with a checksum; [`Pool::verify`] also compares the content with its digest.
//! `docs/formats/generations.md` describes the files and the order in which they are written.
//!
//! Until its first cut a disk has one generation, its head, which holds all blocks: its file is a raw disk, and a flush
//! is one sync of it.
//!
//! A disk can also begin with a [`Base`]: a part of a disk image, or blocks of files, which lie elsewhere and
//! are only read.
//!
//! A [`Disk`] can be served to a machine: it implements [`served_disk::Disk`].
//!
//! A disk has at most 16 TiB and 65,535 generations, of which each is an open file. [`Snapshot`] and
//! [`Disk`] implement [`fstree::ReadAt`], so whatever reads a raw disk reads them. All effects go
//! through [`Storage`]; [`FileStorage`] is a directory.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod base;
mod beginning;
mod block;
mod block_file;
mod block_list;
mod block_set;
mod content;
mod disk;
mod error;
mod file_blocks;
mod file_storage;
mod head;
mod id;
mod image_part;
mod log;
mod map;
mod merge;
mod names;
mod open;
mod pool;
mod pool_file;
mod roll_back;
mod sealed;
mod sealing;
mod served;
mod snapshot;
mod state;
mod storage;
mod unlisted;
mod vectored;
mod verify;
mod view;
mod write;

pub use base::{Base, BaseDisk};
pub use block::{BLOCK_BYTES, GENERATIONS_MAX, SECTOR_BYTES, SIZE_MAX_BYTES};
pub use block_file::BlockFile;
pub use disk::Disk;
pub use error::{
    BaseError, CreateError, CutError, Damaged, Failed, Fault, FlushError, GrowError, InvalidSize,
    MergeError, OpenError, OutOfRange, ReadError, RollBackError, StorageError, VerifyError,
    WriteError,
};
pub use file_blocks::{FileBlocks, FileRun};
pub use file_storage::FileStorage;
pub use id::{DiskId, GenerationId};
pub use image_part::{ImagePart, Stamp};
pub use pool::Pool;
pub use pool_file::PoolFile;
pub use snapshot::Snapshot;
pub use state::State;
pub use storage::{Access, Storage, StorageFile};
pub use verify::{SealedGeneration, Verified};
