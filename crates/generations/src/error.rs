use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::block::{BLOCK_BYTES, GENERATIONS_MAX, SIZE_MAX_BYTES};
use crate::{DiskId, GenerationId};

/// The verb of a call that makes a file or the names of files durable.
pub(crate) const SYNC: &str = "sync";

/// A call of the storage that failed.
#[derive(Debug, Error)]
#[error("cannot {operation} {file}")]
pub struct StorageError {
    /// The verb of the call, such as `write`.
    pub operation: &'static str,
    /// The name of the file in the pool.
    pub file: String,
    /// The error of the system.
    #[source]
    pub source: io::Error,
}

impl StorageError {
    /// Returns a function that names the call in an error of the system.
    pub(crate) fn of(operation: &'static str, file: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self {
            operation,
            file: file.to_owned(),
            source,
        }
    }

    /// Returns true if a sync failed: what was written before may be lost, though it can be read.
    pub(crate) fn is_of_a_sync(&self) -> bool {
        self.operation == SYNC
    }
}

/// A file of the pool that is not what was written.
#[derive(Debug, Error)]
#[error("{file} is damaged: {fault}")]
pub struct Damaged {
    /// The name of the file in the pool.
    pub file: String,
    /// The fault that was found first.
    pub fault: Fault,
}

/// A fault of a file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// The file has another length than was recorded.
    #[error("it has {found} bytes instead of {expected}")]
    Length {
        /// The file's length, in bytes.
        found: u64,
        /// The recorded length, in bytes.
        expected: u64,
    },
    /// The checksum of a sealed file does not match its bytes.
    #[error("its checksum does not match")]
    Seal,
    /// The file belongs to another generation or disk.
    #[error("it belongs to {found}")]
    Identity {
        /// The identifier that the file contains, in hexadecimal digits.
        found: String,
    },
    /// A field has a value that is never written.
    #[error("its field {name} is {value}")]
    Field {
        /// The name of the field.
        name: &'static str,
        /// The value.
        value: u64,
    },
    /// A list names a block twice, out of order, or beyond the disk.
    #[error("it lists block {block} wrongly")]
    Block {
        /// The number of the block.
        block: u64,
    },
    /// A record of the log is damaged although later records are intact.
    #[error("its record at byte {offset_bytes} is damaged")]
    Record {
        /// The offset of the record in the file, in bytes.
        offset_bytes: u64,
    },
    /// The digest of the content does not match.
    #[error("the digest of its content does not match")]
    Content,
}

/// A disk or a generation cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// A file cannot be opened or read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A file is damaged.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// Another process has the disk open.
    #[error("disk {disk} is in use by another process")]
    InUse {
        /// The disk.
        disk: DiskId,
    },
    /// The disk has no room for a head.
    #[error("{} generations are too many, the limit is {GENERATIONS_MAX}: merge some", .count)]
    TooManyGenerations {
        /// The number of generations, the head included.
        count: usize,
    },
}

/// The files that a disk begins with cannot be used.
#[derive(Debug, Error)]
pub enum BaseError {
    /// The file cannot be opened.
    #[error("cannot open {}", .path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The file has changed.
    #[error("{} has changed since a disk was made over it: {change}", .path.display())]
    Changed {
        /// The path of the file.
        path: PathBuf,
        /// The change, a clause.
        change: String,
    },
    /// The tree of a file is not the one of the file.
    #[error("{} is corrupt", .path.display())]
    Tree {
        /// The path of the tree.
        path: PathBuf,
        /// The error of the reader.
        #[source]
        source: block_tree::OpenError,
    },
    /// The runs of blocks overlap, are out of order, or leave the disk or their file.
    #[error("the blocks from {block} on are not in the files of the base")]
    Runs {
        /// The first block of the run on the disk.
        block: u64,
    },
    /// The file is no disk image of the recorded format.
    #[error("cannot use {} as a disk image", .path.display())]
    Image {
        /// The path of the disk image.
        path: PathBuf,
        /// The error of the reader.
        #[source]
        source: disk_image::OpenError,
    },
}

impl From<BaseError> for io::Error {
    fn from(error: BaseError) -> Self {
        let kind = match &error {
            BaseError::Io { source, .. } => source.kind(),
            BaseError::Changed { .. }
            | BaseError::Image { .. }
            | BaseError::Tree { .. }
            | BaseError::Runs { .. } => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}

/// A disk cannot be created, forked, adopted or set to another state.
#[derive(Debug, Error)]
pub enum CreateError {
    /// The size is none that a disk can have.
    #[error(transparent)]
    Size(#[from] InvalidSize),
    /// A file cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The disk's present record cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// A size that a disk cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "{size_bytes} bytes is not the size of a disk: write a multiple of 512 up to {SIZE_MAX_BYTES}"
)]
pub struct InvalidSize {
    /// The size, in bytes.
    pub size_bytes: u64,
}

/// Bytes of a disk cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The range ends beyond the disk.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// A generation cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A range that ends beyond the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{length_bytes} bytes at {offset_bytes} end beyond the disk, which has {size_bytes} bytes")]
pub struct OutOfRange {
    /// The first byte.
    pub offset_bytes: u64,
    /// The number of bytes.
    pub length_bytes: u64,
    /// The size of the disk, in bytes.
    pub size_bytes: u64,
}

/// Bytes of a disk cannot be changed.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The range ends beyond the disk.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The head cannot be written, or a partly written block cannot be read before.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A sync failed before.
    #[error(transparent)]
    Failed(#[from] Failed),
}

impl From<ReadError> for WriteError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::OutOfRange(error) => Self::OutOfRange(error),
            ReadError::Storage(error) => Self::Storage(error),
        }
    }
}

/// A disk that takes no more changes, because the system lost some: a sync failed. What is lost is
/// unknown to both, so that a later sync that succeeds would promise too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("disk {disk} does not accept changes, because a sync failed: open it again")]
pub struct Failed {
    /// The disk.
    pub disk: DiskId,
}

/// Changes cannot be made durable.
#[derive(Debug, Error)]
pub enum FlushError {
    /// A file cannot be written or synced. If it was a sync, the disk takes no more changes.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A sync failed before.
    #[error(transparent)]
    Failed(#[from] Failed),
}

/// A disk cannot be cut.
#[derive(Debug, Error)]
pub enum CutError {
    /// The cut before this one cannot be made durable.
    #[error(transparent)]
    Flush(#[from] FlushError),
    /// The files of the new head cannot be made.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The map has no number for a further generation.
    #[error("{} generations are too many, the limit is {GENERATIONS_MAX}: merge some and open the disk again", .count)]
    TooManyGenerations {
        /// The number of generations, the head included.
        count: usize,
    },
}

/// A disk cannot grow.
#[derive(Debug, Error)]
pub enum GrowError {
    /// The size is none that a disk can have.
    #[error(transparent)]
    Size(#[from] InvalidSize),
    /// The size is less than the disk's.
    #[error("the disk has {size_bytes} bytes and cannot shrink to {wanted_bytes}")]
    Shrink {
        /// The size of the disk, in bytes.
        size_bytes: u64,
        /// The wanted size, in bytes.
        wanted_bytes: u64,
    },
    /// The head cannot be made longer.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The rest of the last block cannot be made zeros.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A sync failed before.
    #[error(transparent)]
    Failed(#[from] Failed),
}

/// An open disk cannot be set to another state.
#[derive(Debug, Error)]
pub enum RollBackError {
    /// The size of the state is none that a disk can have.
    #[error(transparent)]
    Size(#[from] InvalidSize),
    /// Changes that were made before cannot be made durable.
    #[error(transparent)]
    Flush(#[from] FlushError),
    /// A generation of the state cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The files of the new head, or the record of the disk, cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Generations cannot be merged.
#[derive(Debug, Error)]
pub enum MergeError {
    /// A generation cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A generation cannot be read, or the merged one cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// There are fewer than two generations to merge.
    #[error("{count} generation cannot be merged: name at least two")]
    TooFew {
        /// The number of generations.
        count: usize,
    },
    /// The disk does not have these generations one after the other.
    #[error("generation {first} and the others are not adjacent on disk {disk}")]
    NotNeighbours {
        /// The oldest of the generations.
        first: GenerationId,
        /// The disk.
        disk: DiskId,
    },
}

/// A generation is not what was written, or cannot be read.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// A file cannot be opened or read.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl From<StorageError> for VerifyError {
    fn from(error: StorageError) -> Self {
        Self::Open(error.into())
    }
}

impl From<Damaged> for VerifyError {
    fn from(error: Damaged) -> Self {
        Self::Open(error.into())
    }
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        let kind = match &error {
            ReadError::OutOfRange(_) => io::ErrorKind::UnexpectedEof,
            ReadError::Storage(error) => error.source.kind(),
        };
        Self::new(kind, error)
    }
}

impl From<WriteError> for io::Error {
    fn from(error: WriteError) -> Self {
        let kind = match &error {
            WriteError::OutOfRange(_) => io::ErrorKind::InvalidInput,
            WriteError::Storage(error) => error.source.kind(),
            WriteError::Failed(_) => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

impl From<FlushError> for io::Error {
    fn from(error: FlushError) -> Self {
        let kind = match &error {
            FlushError::Storage(error) => error.source.kind(),
            FlushError::Failed(_) => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

const _: () = assert!(
    BLOCK_BYTES == 4096,
    "docs/formats/generations.md names the size"
);
