use std::fmt;

/// A file or an attribute that a layer lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerNote {
    /// Path of the file, with a leading `/`.
    pub path: Vec<u8>,
    /// The reason.
    pub reason: LayerNoteReason,
}

/// A reason why a layer lacks a file or an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerNoteReason {
    /// The file is a socket, which a tar cannot store.
    Socket,
    /// The xattr of this name is not part of images, PAX cannot store it, or no kernel returns its value.
    Xattr {
        /// The full name of the xattr.
        name: Vec<u8>,
    },
}

impl LayerNote {
    /// Most notes that are kept.
    pub const KEPT_MAX: usize = 100;
}

/// Formats the note as a clause, with bytes other than printable ASCII escaped.
impl fmt::Display for LayerNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.escape_ascii();
        match &self.reason {
            LayerNoteReason::Socket => write!(f, "the socket {path} is left out"),
            LayerNoteReason::Xattr { name } => {
                write!(f, "the xattr {} of {path} is left out", name.escape_ascii())
            }
        }
    }
}

/// The notes on a layer.
#[derive(Debug, Clone, Default)]
pub(super) struct Notes {
    pub(super) kept: Vec<LayerNote>,
    pub(super) total: u64,
}

impl Notes {
    pub(super) fn add(&mut self, path: Vec<u8>, reason: LayerNoteReason) {
        self.total += 1;
        if self.kept.len() < LayerNote::KEPT_MAX {
            self.kept.push(LayerNote { path, reason });
        }
    }
}
