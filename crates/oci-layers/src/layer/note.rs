use std::fmt;

use crate::error::RawPath;
use crate::limits::Limits;

/// Something in the archive that the tree does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Where the entry's header starts in the uncompressed stream.
    pub offset_bytes: u64,
    /// The entry's path.
    pub path: RawPath,
    /// What was left out, and why.
    pub reason: NoteReason,
}

/// Why something was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoteReason {
    /// An xattr that only the host or overlayfs may set.
    ReservedXattr {
        /// Its name.
        name: RawPath,
    },
    /// An xattr that this type of file cannot have.
    MisplacedXattr {
        /// Its name.
        name: RawPath,
    },
    /// An xattr of a namespace that the kernel does not know.
    UnknownXattr {
        /// Its name.
        name: RawPath,
    },
    /// Leftovers of AUFS.
    Aufs,
    /// A time before 1970 or after 2262.
    Time,
}

/// Notes up to a limit.
#[derive(Debug)]
pub(crate) struct Notes {
    notes: Vec<Note>,
    limit: usize,
}

impl Notes {
    pub(crate) const fn new(limits: &Limits) -> Self {
        Self {
            notes: Vec::new(),
            limit: limits.notes,
        }
    }

    pub(crate) fn add(&mut self, offset_bytes: u64, path: &[u8], reason: NoteReason) {
        if self.notes.len() < self.limit {
            self.notes.push(Note {
                offset_bytes,
                path: path.into(),
                reason,
            });
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Note> {
        self.notes
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
