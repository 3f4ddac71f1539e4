use std::error::Error;
use std::fmt;
use std::io;

use fstree::InvalidName;

use crate::limits::Limit;

/// Bytes of a path that a message shows at most.
const SHOWN_BYTES: usize = 256;

/// A path as an archive spells it; shown escaped and shortened.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawPath(Box<[u8]>);

/// More than a limit allows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {} is beyond the limit {}={}", .limit.description(), .limit.name(), .limit.unit().show(*.value))]
pub struct Exceeded {
    /// Which limit.
    pub limit: Limit,
    /// What it is, in its unit.
    pub value: u64,
}

/// Why text does not set a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLimit {
    /// It has no `=`.
    #[error("'{0}' is not NAME=VALUE")]
    Form(String),
    /// There is no such limit.
    #[error("there is no limit '{0}'")]
    Name(String),
    /// The value is not in the limit's unit.
    #[error("'{value}' is no value for {}, which is {} unless it is set", .limit.name(), .limit.unit().show(.limit.default_value()))]
    Value {
        /// Which limit.
        limit: Limit,
        /// The text.
        value: String,
    },
}

/// Why a layer cannot be read. Offsets are in the uncompressed tar stream.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// The stream itself failed.
    #[error("reading the layer failed at byte {offset_bytes}")]
    Io {
        /// Where.
        offset_bytes: u64,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The stream ends inside an entry.
    #[error("the layer ends too early, at byte {offset_bytes}")]
    Truncated {
        /// Where it ends.
        offset_bytes: u64,
    },
    /// A tar header is malformed.
    #[error("the tar header at byte {offset_bytes} is invalid")]
    Header {
        /// Where the header starts.
        offset_bytes: u64,
        /// What is wrong with it.
        #[source]
        source: InvalidHeader,
    },
    /// An entry is well-formed and must not be.
    #[error("the entry '{path}' at byte {offset_bytes} is refused")]
    Entry {
        /// Where its header starts.
        offset_bytes: u64,
        /// The path it names.
        path: RawPath,
        /// What is wrong with it.
        #[source]
        source: InvalidEntry,
    },
    /// The layer costs more than it may.
    #[error("at byte {offset_bytes} the layer is too much")]
    Limit {
        /// Where.
        offset_bytes: u64,
        /// Which limit it is beyond.
        #[source]
        source: Exceeded,
    },
    /// The content of a file could not be stored.
    #[error("storing the content of '{path}' failed")]
    Sink {
        /// The file's path.
        path: RawPath,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

/// What can be wrong with a tar header and the records that extend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHeader {
    /// The sum of its bytes is not the one it states.
    #[error("its checksum does not match")]
    Checksum,
    /// A zero block that is followed by something else.
    #[error("it follows a single zero block")]
    LoneZeroBlock,
    /// A field is not a number, or too large a one.
    #[error("its {field} is not a number in range")]
    Number {
        /// Which field.
        field: &'static str,
    },
    /// A type that nothing is known about.
    #[error("its type '{}' is unknown", code.escape_ascii())]
    Type {
        /// The type flag.
        code: u8,
    },
    /// A PAX record is not `length key=value\n`.
    #[error("a PAX record is malformed")]
    PaxRecord,
    /// A PAX record's value does not fit its key.
    #[error("the PAX record '{key}' has an invalid value")]
    PaxValue {
        /// The key.
        key: RawPath,
    },
    /// A sparse map that overlaps, runs backwards, or does not fit the sizes.
    #[error("its sparse map is inconsistent")]
    SparseMap,
}

/// What can be wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEntry {
    /// No path at all.
    #[error("its path is empty")]
    EmptyPath,
    /// The path, or a link target, has more `..` than directories.
    #[error("its path leaves the root")]
    LeavesRoot,
    /// A component is no file name.
    #[error("its path is invalid")]
    Name(#[from] InvalidName),
    /// Something other than a directory stands where the root is.
    #[error("the root is not a directory")]
    RootType,
    /// A parent is a file in this layer.
    #[error("a parent of it is not a directory")]
    ParentNotDirectory,
    /// The entry costs more than it may.
    #[error("it is too much")]
    Limit(#[from] Exceeded),
    /// More symlinks on the way than the limit, which is the kernel's 40 unless it is raised.
    #[error("its path goes through too many symlinks")]
    SymlinkLoop(#[source] Exceeded),
    /// `.wh.` without a name, or with `.` or `..`.
    #[error("it is not a valid whiteout")]
    Whiteout,
    /// A symlink to nothing.
    #[error("its symlink target is empty")]
    EmptyTarget,
    /// A symlink target that no kernel takes.
    #[error("its symlink target has {length_bytes} bytes, the limit is 4095")]
    LongTarget {
        /// How long it is.
        length_bytes: usize,
    },
    /// An xattr beyond what the kernel and EROFS take: 255 bytes of name, 65,535 of value.
    #[error("its xattr '{name}' is too long")]
    LongXattr {
        /// The xattr's name.
        name: RawPath,
    },
    /// A capability or an access control list that no kernel takes.
    #[error("its xattr '{name}' has a value that no kernel takes")]
    XattrValue {
        /// The xattr's name.
        name: RawPath,
    },
    /// A device number beyond 12 bits of major and 20 of minor (linux/kdev_t.h).
    #[error("the device number {major}:{minor} is out of range")]
    DeviceNumber {
        /// Its major part.
        major: u32,
        /// Its minor part.
        minor: u32,
    },
    /// Later hard links that lead to each other, more than the limit.
    #[error("the hard link leads through too many others")]
    HardlinkChain(#[source] Exceeded),
    /// A hard link to its own name.
    #[error("the hard link leads to itself")]
    HardlinkLoop,
    /// A hard link to a directory.
    #[error("the hard link leads to the directory '{target}'")]
    HardlinkToDirectory {
        /// The directory.
        target: RawPath,
    },
}

/// Why layers cannot be merged. `E` is what reading a layer's tree gives.
#[derive(Debug, thiserror::Error)]
pub enum MergeError<E: Error + 'static> {
    /// A layer could not be had.
    #[error("layer {layer} could not be read")]
    Layer {
        /// Which, the base being 0.
        layer: usize,
        /// Why.
        #[source]
        source: E,
    },
    /// More layers than an image has device slots.
    #[error("the image has more than {limit} layers")]
    TooManyLayers {
        /// How many there may be.
        limit: u16,
    },
    /// The layers have more names than the image may.
    #[error("with layer {layer} the image is too much")]
    Limit {
        /// Which, the base being 0.
        layer: usize,
        /// Which limit it is beyond.
        #[source]
        source: Exceeded,
    },
    /// A hard link to what no layer below has.
    #[error("layer {layer} has a hard link to '{target}', which is not there")]
    HardlinkTarget {
        /// Which, the base being 0.
        layer: usize,
        /// What it links to.
        target: RawPath,
    },
    /// A hard link to a directory of a layer below.
    #[error("layer {layer} has a hard link to the directory '{target}'")]
    HardlinkToDirectory {
        /// Which, the base being 0.
        layer: usize,
        /// What it links to.
        target: RawPath,
    },
}

impl RawPath {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for RawPath {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Display for RawPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.get(..SHOWN_BYTES) {
            Some(start) => write!(f, "{}...", start.escape_ascii()),
            None => write!(f, "{}", self.0.escape_ascii()),
        }
    }
}

impl fmt::Debug for RawPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}
