use std::fmt;
use std::io;

use thiserror::Error;

/// A plain file cannot be packed.
#[derive(Debug, Error)]
pub enum PackError {
    /// The plain file cannot be read.
    #[error("cannot read the plain file")]
    Input(#[source] io::Error),
    /// The packed file cannot be written.
    #[error("cannot write the packed file")]
    Output(#[source] io::Error),
    /// The compression has no memory.
    #[error("cannot compress the plain file")]
    Compression(#[source] io::Error),
    /// The plain file is too large.
    #[error("the plain file has more than {limit_bytes} bytes, the limit")]
    TooLarge {
        /// The limit, in bytes.
        limit_bytes: u64,
    },
}

/// A packed file cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The file cannot be read.
    #[error("cannot read the packed file")]
    Io(#[from] io::Error),
    /// The file does not end as a packed file does. It may be truncated.
    #[error("it is not a packed file, or it is truncated: it does not end with an end record")]
    NotPacked,
    /// The file has another version of the format.
    #[error("version {found} of the format is not supported, this is version {known}")]
    Version {
        /// The version of the file.
        found: u32,
        /// The version that this crate reads.
        known: u32,
    },
    /// The plain file is too large.
    #[error("the plain file has {size_bytes} bytes, the limit is {limit_bytes}")]
    TooLarge {
        /// The size of the plain file, in bytes.
        size_bytes: u64,
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// The plain file has another checksum than the expected one.
    #[error("it has the content {found}, not {expected}")]
    OtherContent {
        /// The checksum that the file states, in hexadecimal digits.
        found: String,
        /// The expected checksum, in hexadecimal digits.
        expected: String,
    },
    /// A part of the file is damaged.
    #[error(transparent)]
    Damaged(#[from] Damaged),
}

/// Bytes of the plain file cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The packed file cannot be read.
    #[error("cannot read the packed file")]
    Io(#[from] io::Error),
    /// The range ends beyond the plain file.
    #[error(
        "{length_bytes} bytes at {offset_bytes} end beyond the plain file, which has {size_bytes} bytes"
    )]
    OutOfRange {
        /// The first byte.
        offset_bytes: u64,
        /// The number of bytes.
        length_bytes: u64,
        /// The size of the plain file, in bytes.
        size_bytes: u64,
    },
    /// A part of the file is damaged.
    #[error(transparent)]
    Damaged(#[from] Damaged),
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        let kind = match &error {
            ReadError::Io(source) => source.kind(),
            ReadError::OutOfRange { .. } => io::ErrorKind::UnexpectedEof,
            ReadError::Damaged(_) => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}

/// A part of a packed file that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{part} of the packed file, at byte {offset_bytes}, is damaged: {fault}")]
pub struct Damaged {
    /// The part.
    pub part: Part,
    /// The offset of the part in the packed file, in bytes.
    pub offset_bytes: u64,
    /// The fault.
    pub fault: Fault,
}

/// A part of a packed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The end record.
    EndRecord,
    /// The directory of sections.
    Directory,
    /// The table of the section with this number.
    Table(usize),
    /// The frame of the group with this number.
    Frame(u64),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndRecord => f.write_str("the end record"),
            Self::Directory => f.write_str("the directory"),
            Self::Table(section) => write!(f, "table {section}"),
            Self::Frame(group) => write!(f, "frame {group}"),
        }
    }
}

/// A fault of a part.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// The seal does not match the bytes.
    #[error("its checksum does not match")]
    Seal,
    /// The values of the part do not lead to the value above them, or the content has another value.
    #[error("its content is not that of the plain file's checksum")]
    Value,
    /// The part states a place that it cannot have.
    #[error("it leads to byte {found}, and the limits are {start} to {end}")]
    Place {
        /// The stated offset, in bytes.
        found: u64,
        /// The smallest valid offset, in bytes.
        start: u64,
        /// The largest valid offset, in bytes.
        end: u64,
    },
    /// The frame of a group is longer than the group.
    #[error("frame {group} has {found} bytes, the limit is {limit}")]
    FrameLength {
        /// The number of the group.
        group: u64,
        /// The stated length of the frame, in bytes.
        found: u32,
        /// The length of the group, in bytes.
        limit: usize,
    },
    /// The frames do not fill the space before their table.
    #[error("its frames have {found} bytes instead of {expected}")]
    Frames {
        /// The sum of the stated lengths, in bytes.
        found: u64,
        /// The space of the frames, in bytes.
        expected: u64,
    },
    /// The frame cannot be decompressed, or has more bytes than its group.
    #[error("it does not decompress to at most {limit} bytes: {reason}")]
    Compression {
        /// The length of the group, in bytes.
        limit: usize,
        /// The reason, as zstd words it.
        reason: String,
    },
    /// The frame has fewer bytes than its group.
    #[error("it decompresses to {found} bytes instead of {expected}")]
    Short {
        /// The decompressed length, in bytes.
        found: usize,
        /// The length of the group, in bytes.
        expected: usize,
    },
}
