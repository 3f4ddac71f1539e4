use std::fmt;

use crate::error::RawPath;
use crate::limits::{Limit, Limits};

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

    /// Those that were kept, and how many there were.
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
