use std::io;

use crate::{Format, UnknownFormat};

/// A disk image cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file cannot be read.
    #[error("cannot read it")]
    Io(#[from] io::Error),
    /// The file has a format that this crate does not read.
    #[error(transparent)]
    Format(#[from] UnknownFormat),
    /// The file does not have the format that it was said to have.
    #[error("it is not {wanted}, it begins as {found}")]
    OtherFormat {
        /// The format that it was said to have.
        wanted: Format,
        /// The format that its first bytes have.
        found: Format,
    },
    /// The image has a feature that cannot be read, or that names other files.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// A structure of the image is damaged.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
}

/// A feature of an image that makes it unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// The version of the format is unknown.
    #[error("version {version} of {format} is not supported")]
    Version {
        /// The format.
        format: Format,
        /// The version.
        version: u32,
    },
    /// The image is encrypted.
    #[error("it is encrypted ({method})")]
    Encrypted {
        /// The method of the encryption.
        method: String,
    },
    /// The image is the changes to another file.
    #[error("it has a backing file, and an image may not name files of this host: {name}")]
    BackingFile {
        /// The name of the file, shortened and escaped.
        name: String,
    },
    /// The content lies in another file.
    #[error("its content is in another file, and an image may not name files of this host")]
    ExternalData,
    /// The image needs a feature of its format that is not read.
    #[error("it needs a feature of {format} that is not supported: {feature}")]
    Feature {
        /// The format.
        format: Format,
        /// The name of the feature.
        feature: String,
    },
    /// The disk is too large.
    #[error("its disk has {size_bytes} bytes, the limit is {limit_bytes}")]
    TooLarge {
        /// The size of the disk, in bytes.
        size_bytes: u64,
        /// The limit, in bytes.
        limit_bytes: u64,
    },
}

/// A structure of an image that is damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {structure} at byte {offset_bytes} is damaged: {fault}")]
pub struct Corrupt {
    /// The name of the structure.
    pub structure: &'static str,
    /// The offset in the file, in bytes.
    pub offset_bytes: u64,
    /// The fault, a clause.
    pub fault: String,
}

impl Corrupt {
    pub(crate) fn new(
        structure: &'static str,
        offset_bytes: u64,
        fault: impl Into<String>,
    ) -> Self {
        Self {
            structure,
            offset_bytes,
            fault: fault.into(),
        }
    }
}

impl From<Corrupt> for io::Error {
    fn from(corrupt: Corrupt) -> Self {
        Self::new(io::ErrorKind::InvalidData, corrupt)
    }
}

impl OpenError {
    /// Returns the error of a read, which may be that of a damaged structure.
    pub(crate) fn of_read(error: io::Error) -> Self {
        match error.downcast::<Corrupt>() {
            Ok(corrupt) => Self::Corrupt(corrupt),
            Err(error) => Self::Io(error),
        }
    }
}

/// Returns text from an image, shortened and escaped.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const SHOWN_MAX_CHARS: usize = 100;
    let text = String::from_utf8_lossy(bytes);
    let shortened: String = text.chars().take(SHOWN_MAX_CHARS).collect();
    shortened.escape_debug().to_string()
}
