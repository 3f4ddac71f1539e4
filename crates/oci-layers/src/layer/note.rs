use std::fmt;

use tar_stream::RawPath;

use crate::limits::{Limit, Limits};

/// An entry, an attribute or a time of the archive that the tree does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Offset of the entry's header in the uncompressed stream, in bytes.
    pub offset_bytes: u64,
    /// The entry's path, as stored in the archive.
    pub path: RawPath,
    /// The part that was dropped or changed, and the reason.
    pub reason: NoteReason,
}

/// The reason why a part of an entry was dropped or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoteReason {
    /// An xattr that only the host or overlayfs may set was dropped.
    ReservedXattr {
        /// The xattr's full name.
        name: RawPath,
    },
    /// An xattr that this type of file cannot have was dropped.
    MisplacedXattr {
        /// The xattr's full name.
        name: RawPath,
    },
    /// An xattr of a namespace that the kernel does not know was dropped.
    UnknownXattr {
        /// The xattr's full name.
        name: RawPath,
    },
    /// A leftover of AUFS was dropped.
    Aufs,
    /// A time before 1970 or after 2262 was set to the epoch.
    Time,
}

/// Notes on a layer; the number that is kept is limited.
#[derive(Debug)]
pub(crate) struct Notes {
    kept: Vec<Note>,
    total: u64,
    limit: u64,
}

impl Notes {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            kept: Vec::new(),
            total: 0,
            limit: limits.get(Limit::LayerNotes),
        }
    }

    pub(crate) fn add(&mut self, offset_bytes: u64, path: &[u8], reason: NoteReason) {
        self.total += 1;
        if self.total <= self.limit {
            self.kept.push(Note {
                offset_bytes,
                path: path.into(),
                reason,
            });
        }
    }

    /// Returns the notes that were kept, and the number of all notes.
    pub(crate) fn finish(self) -> (Vec<Note>, u64) {
        (self.kept, self.total)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}': {}", self.path, self.reason)
    }
}

impl fmt::Display for NoteReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReservedXattr { name } => {
                write!(f, "the xattr '{name}' is dropped, it is the host's to set")
            }
            Self::MisplacedXattr { name } => {
                write!(
                    f,
                    "the xattr '{name}' is dropped, this type of file has none"
                )
            }
            Self::UnknownXattr { name } => {
                write!(f, "the xattr '{name}' is dropped, its namespace is unknown")
            }
            Self::Aufs => f.write_str("left out, a leftover of AUFS"),
            Self::Time => f.write_str("its time is set to 1970, no engine sets one so far away"),
        }
    }
}
