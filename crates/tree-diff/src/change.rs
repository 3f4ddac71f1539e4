use std::fmt;
use std::sync::Arc;

use fstree::InodeId;

bitflags::bitflags! {
    /// The properties in which a file differs from what its name stood for before.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct Differences: u16 {
        /// The type, such as a directory in the place of a file.
        const TYPE = 1;
        /// The bytes of a regular file.
        const CONTENT = 1 << 1;
        /// The twelve permission bits.
        const MODE = 1 << 2;
        /// The user ID or the group ID.
        const OWNER = 1 << 3;
        /// The time of the last modification.
        const MTIME = 1 << 4;
        /// The extended attributes.
        const XATTRS = 1 << 5;
        /// The target of a symlink.
        const TARGET = 1 << 6;
        /// The number of a device.
        const DEVICE = 1 << 7;
        /// The other names of the file.
        const LINKS = 1 << 8;
    }
}

impl Differences {
    const NAMES: [(Self, &'static str); 9] = [
        (Self::TYPE, "type"),
        (Self::CONTENT, "content"),
        (Self::MODE, "mode"),
        (Self::OWNER, "owner"),
        (Self::MTIME, "mtime"),
        (Self::XATTRS, "xattrs"),
        (Self::TARGET, "target"),
        (Self::DEVICE, "device"),
        (Self::LINKS, "links"),
    ];

    /// Iterates over the names of the properties, such as `content`.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let names = Self::NAMES.into_iter();
        names.filter_map(move |(flag, name)| self.contains(flag).then_some(name))
    }
}

/// The kind of a change of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// The name exists only in the new tree.
    Added,
    /// The name exists in both trees, and its files differ.
    Changed(Differences),
    /// The name exists only in the old tree.
    Deleted,
}

impl ChangeKind {
    /// Returns the letter that `docker diff` prints: `A`, `C` or `D`.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Changed(_) => 'C',
            Self::Deleted => 'D',
        }
    }
}

/// A name that stands for different files in two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Path from the root, with a leading `/`.
    pub path: Vec<u8>,
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The inode in the old tree; `None` if the name was added.
    pub old: Option<InodeId>,
    /// The inode in the new tree; `None` if the name was deleted.
    pub new: Option<InodeId>,
    /// Path of another name of the new file, which has several. The other name stands for the same
    /// file, and is unchanged or a change without a `hard_link`.
    pub hard_link: Option<Arc<[u8]>>,
    /// Path in the old tree of the file that was moved here. It is set for the top of a moved tree
    /// only, and only if the comparison knows origins.
    pub renamed_from: Option<Vec<u8>>,
    /// True if the name is deleted because a directory above it is deleted or replaced.
    pub is_implied: bool,
}

impl Change {
    /// Returns true if the change is only the modification time of a directory, which follows from
    /// a change of its names.
    #[must_use]
    pub fn is_directory_time(&self, is_directory: bool) -> bool {
        is_directory && self.kind == ChangeKind::Changed(Differences::MTIME)
    }
}

/// Formats the change as `docker diff` does: its letter and its path, with bytes other than
/// printable ASCII escaped.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.letter(), self.path.escape_ascii())
    }
}
