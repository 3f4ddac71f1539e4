use std::fmt;
use std::io;

use fstree::Device;

use crate::limits::Exceeded;

/// Most bytes of a path that a message shows.
const SHOWN_BYTES: usize = 256;

/// A path as spelled in an archive. Messages show it escaped and shortened.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawPath(Box<[u8]>);

/// A reason why an archive cannot be read. Offsets are in bytes from the archive's start.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The stream of the archive failed.
    #[error("cannot read the archive at byte {offset_bytes}")]
    Io {
        /// Offset of the next byte that should have been read.
        offset_bytes: u64,
        /// The error of the stream.
        #[source]
        source: io::Error,
    },
    /// The stream ends inside an entry.
    #[error("it ends too early, at byte {offset_bytes}")]
    Truncated {
        /// Length of the stream, in bytes.
        offset_bytes: u64,
    },
    /// A header or its extension is malformed.
    #[error("the header at byte {offset_bytes} is invalid")]
    Header {
        /// Offset of the header, in bytes.
        offset_bytes: u64,
        /// The fault of the header.
        #[source]
        source: InvalidHeader,
    },
    /// The archive exceeds a limit.
    #[error("it exceeds a limit at byte {offset_bytes}")]
    Limit {
        /// Offset in bytes at which the limit was exceeded.
        offset_bytes: u64,
        /// The limit that is exceeded.
        #[source]
        source: Exceeded,
    },
}

/// A fault of a tar header or of the records that extend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidHeader {
    /// The header's checksum does not match its bytes.
    #[error("its checksum does not match")]
    Checksum,
    /// The header follows a single zero block; two would end the archive.
    #[error("it follows a single zero block")]
    LoneZeroBlock,
    /// A field is not a number, or the number is out of range.
    #[error("its {field} is not a number in range")]
    Number {
        /// The field's name in POSIX, such as `uid`.
        field: &'static str,
    },
    /// The header's type is not known to this crate.
    #[error("its type '{}' is unknown", code.escape_ascii())]
    Type {
        /// The value of `typeflag`.
        code: u8,
    },
    /// A PAX record does not have the form `length key=value\n`.
    #[error("a PAX record is malformed")]
    PaxRecord,
    /// The value of a PAX record does not fit its key.
    #[error("the PAX record '{key}' has an invalid value")]
    PaxValue {
        /// The key of the record.
        key: RawPath,
    },
    /// A sparse map overlaps, runs backwards, or does not fit the sizes.
    #[error("its sparse map is inconsistent")]
    SparseMap,
}

/// A reason why an entry cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The output of the archive failed.
    #[error("cannot write the archive")]
    Output(#[source] io::Error),
    /// The content of a file cannot be read.
    #[error("cannot read the content of '{path}'")]
    Content {
        /// The file's path in the archive.
        path: RawPath,
        /// The error of the content's reader.
        #[source]
        source: io::Error,
    },
    /// PAX cannot store an xattr of this name, which holds `=` or NUL: a key ends at the first `=`.
    #[error(
        "the name of the xattr '{name}' of '{path}' contains '=' or NUL, which PAX cannot store"
    )]
    XattrName {
        /// The file's path in the archive.
        path: RawPath,
        /// The full name of the xattr.
        name: RawPath,
    },
    /// A part of a device number exceeds the seven octal digits of a header.
    #[error(
        "the device number {}:{} of '{path}' is too large for a tar header, the limit is 2097151",
        .device.major, .device.minor
    )]
    DeviceNumber {
        /// The file's path in the archive.
        path: RawPath,
        /// The device number, as major and minor.
        device: Device,
    },
}

impl From<WriteError> for io::Error {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Output(source) | WriteError::Content { source, .. } => source,
            WriteError::XattrName { .. } | WriteError::DeviceNumber { .. } => {
                Self::new(io::ErrorKind::InvalidInput, error)
            }
        }
    }
}

impl RawPath {
    /// Returns the path's bytes, unchanged.
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
