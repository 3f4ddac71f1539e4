use std::error::Error;
use std::io;

use fstree::InvalidName;
use tar_stream::{Entry, InvalidHeader, RawPath, ReadError};

use crate::limits::Limit;

/// A quantity is greater than its limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {} exceeds the limit {}={}", .limit.description(), .limit.name(), .limit.unit().show(*.value))]
pub struct Exceeded {
    /// The limit that is exceeded.
    pub limit: Limit,
    /// The limit's value, in its unit.
    pub value: u64,
}

/// A reason why a text does not set a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLimit {
    /// The text has no `=`.
    #[error("'{0}' is not a limit: write NAME=VALUE")]
    Form(String),
    /// No limit has this name.
    #[error("'{0}' is not the name of a limit; msb help limits lists them")]
    Name(String),
    /// The value is not valid in the limit's unit.
    #[error("'{value}' is not a value for the limit {}, whose default is {}", .limit.name(), .limit.unit().show(.limit.default_value()))]
    Value {
        /// The limit of that name.
        limit: Limit,
        /// The text after the `=`.
        value: String,
    },
}

/// A reason why a layer cannot be read. Offsets are in the uncompressed tar stream.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// The stream of the layer failed.
    #[error("cannot read the layer at byte {offset_bytes}")]
    Io {
        /// Offset of the failure, in bytes.
        offset_bytes: u64,
        /// The error of the stream.
        #[source]
        source: io::Error,
    },
    /// The stream ends inside an entry.
    #[error("the layer ends too early, at byte {offset_bytes}")]
    Truncated {
        /// Offset of the end, in bytes.
        offset_bytes: u64,
    },
    /// A tar header is malformed.
    #[error("the tar header at byte {offset_bytes} is invalid")]
    Header {
        /// Offset of the header, in bytes.
        offset_bytes: u64,
        /// The fault of the header.
        #[source]
        source: InvalidHeader,
    },
    /// An entry is well-formed, but its content is not allowed.
    #[error("the entry '{path}' at byte {offset_bytes} is refused")]
    Entry {
        /// Offset of the entry's header, in bytes.
        offset_bytes: u64,
        /// The entry's path, as stored in the archive.
        path: RawPath,
        /// The reason for the refusal.
        #[source]
        source: InvalidEntry,
    },
    /// The layer exceeds a limit.
    #[error("at byte {offset_bytes} the layer exceeds a limit")]
    Limit {
        /// Offset in bytes at which the limit was exceeded.
        offset_bytes: u64,
        /// The limit that is exceeded.
        #[source]
        source: Exceeded,
    },
    /// The content of a file could not be stored.
    #[error("cannot store the content of '{path}'")]
    Sink {
        /// The file's path, as stored in the archive.
        path: RawPath,
        /// The error of the sink.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

/// A reason why an entry is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEntry {
    /// A hard link's target is an empty path.
    #[error("its path is empty")]
    EmptyPath,
    /// The path or a link target has more `..` than directories, so it leaves the root.
    #[error("its path leaves the root")]
    LeavesRoot,
    /// A component of the path is not a valid file name.
    #[error("its path is invalid")]
    Name(#[from] InvalidName),
    /// An entry that is not a directory names the root.
    #[error("the root is not a directory")]
    RootType,
    /// A parent of the entry is a file in this layer.
    #[error("a parent of it is not a directory")]
    ParentNotDirectory,
    /// The entry exceeds a limit.
    #[error("it exceeds a limit")]
    Limit(#[from] Exceeded),
    /// The path goes through more symlinks than the limit, which is 40 by default, as in Linux.
    #[error("its path goes through too many symlinks")]
    SymlinkLoop(#[source] Exceeded),
    /// The name is `.wh.` alone, or `.wh.` with `.` or `..`.
    #[error("it is not a valid whiteout")]
    Whiteout,
    /// A symlink's target is empty.
    #[error("its symlink target is empty")]
    EmptyTarget,
    /// A symlink's target is longer than a kernel accepts.
    #[error("its symlink target has {length_bytes} bytes, the limit is 4095")]
    LongTarget {
        /// The target's length, in bytes.
        length_bytes: usize,
    },
    /// An xattr is longer than the kernel and EROFS accept: 255 bytes of name, 65,535 of value.
    #[error("its xattr '{name}' is too long")]
    LongXattr {
        /// The full name of the xattr.
        name: RawPath,
    },
    /// An xattr holds a capability or an access control list that no kernel accepts.
    #[error("its xattr '{name}' has a value that no kernel accepts")]
    XattrValue {
        /// The full name of the xattr.
        name: RawPath,
    },
    /// A device number exceeds 12 bits of major or 20 bits of minor (linux/kdev_t.h).
    #[error("the device number {major}:{minor} is out of range")]
    DeviceNumber {
        /// The major device number.
        major: u32,
        /// The minor device number.
        minor: u32,
    },
    /// A hard link leads through more later hard links than the limit.
    #[error("the hard link leads through too many others")]
    HardlinkChain(#[source] Exceeded),
    /// A hard link's target is its own name.
    #[error("the hard link leads to itself")]
    HardlinkLoop,
    /// A hard link's target is a directory.
    #[error("the hard link leads to the directory '{target}'")]
    HardlinkToDirectory {
        /// The path of the directory.
        target: RawPath,
    },
}

/// A reason why layers cannot be merged. `E` is the error of reading a layer's tree.
#[derive(Debug, thiserror::Error)]
pub enum MergeError<E: Error + 'static> {
    /// The tree of a layer could not be read.
    #[error("cannot read layer {layer}")]
    Layer {
        /// The layer's number; the base is 0.
        layer: usize,
        /// The error of reading the layer.
        #[source]
        source: E,
    },
    /// The image has more layers than an image has device slots.
    #[error("the image has more than {limit} layers")]
    TooManyLayers {
        /// The largest number of layers.
        limit: u16,
    },
    /// The layers together have more names than the limit.
    #[error("with layer {layer} the image exceeds a limit")]
    Limit {
        /// The number of the layer that exceeds the limit; the base is 0.
        layer: usize,
        /// The limit that is exceeded.
        #[source]
        source: Exceeded,
    },
    /// A hard link's target is missing in the layers below.
    #[error("layer {layer} has a hard link to '{target}', which does not exist")]
    HardlinkTarget {
        /// The layer's number; the base is 0.
        layer: usize,
        /// The path of the target.
        target: RawPath,
    },
    /// A hard link's target is a directory of a layer below.
    #[error("layer {layer} has a hard link to the directory '{target}'")]
    HardlinkToDirectory {
        /// The layer's number; the base is 0.
        layer: usize,
        /// The path of the target.
        target: RawPath,
    },
}

impl From<tar_stream::Exceeded> for Exceeded {
    fn from(exceeded: tar_stream::Exceeded) -> Self {
        Self {
            limit: exceeded.limit.into(),
            value: exceeded.value,
        }
    }
}

impl LayerError {
    /// Returns the error that refuses `entry`.
    pub(crate) fn refused(entry: &Entry, source: impl Into<InvalidEntry>) -> Self {
        Self::Entry {
            offset_bytes: entry.offset_bytes,
            path: entry.path.as_slice().into(),
            source: source.into(),
        }
    }
}

/// Converts an archive's error into the layer's, with limits by the names that users set.
impl From<ReadError> for LayerError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io {
                offset_bytes,
                source,
            } => Self::Io {
                offset_bytes,
                source,
            },
            ReadError::Truncated { offset_bytes } => Self::Truncated { offset_bytes },
            ReadError::Header {
                offset_bytes,
                source,
            } => Self::Header {
                offset_bytes,
                source,
            },
            ReadError::Limit {
                offset_bytes,
                source,
            } => Self::Limit {
                offset_bytes,
                source: source.into(),
            },
        }
    }
}
