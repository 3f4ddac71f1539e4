use crate::{Attributes, Extension};

/// The ways in which a file is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Open(pub u32);

impl Open {
    /// The file is read.
    pub const READ: Self = Self(1);
    /// The file is written.
    pub const WRITE: Self = Self(2);
    /// Writes go to the end of the file.
    pub const APPEND: Self = Self(4);
    /// A missing file is created.
    pub const CREATE: Self = Self(8);
    /// The old content is removed.
    pub const TRUNCATE: Self = Self(16);
    /// An existing file is refused.
    pub const EXCLUSIVE: Self = Self(32);

    /// Returns true if all of `other` are chosen.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A request of a client, after the one that begins the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Opens a file.
    Open {
        /// The path.
        path: Vec<u8>,
        /// The way.
        open: Open,
        /// Attributes of a new file, of which the mode counts.
        attributes: Attributes,
    },
    /// Closes a file or a directory.
    Close {
        /// The handle.
        handle: Vec<u8>,
    },
    /// Reads from a file.
    Read {
        /// The handle.
        handle: Vec<u8>,
        /// Offset in bytes.
        offset_bytes: u64,
        /// The most bytes to read.
        length_bytes: u32,
    },
    /// Writes to a file.
    Write {
        /// The handle.
        handle: Vec<u8>,
        /// Offset in bytes.
        offset_bytes: u64,
        /// The bytes.
        data: Vec<u8>,
    },
    /// Reads the attributes of a file, or of a symlink itself.
    LStat {
        /// The path.
        path: Vec<u8>,
    },
    /// Reads the attributes of an open file.
    FStat {
        /// The handle.
        handle: Vec<u8>,
    },
    /// Changes the attributes of a file.
    SetStat {
        /// The path.
        path: Vec<u8>,
        /// The changes.
        attributes: Attributes,
    },
    /// Changes the attributes of an open file.
    FSetStat {
        /// The handle.
        handle: Vec<u8>,
        /// The changes.
        attributes: Attributes,
    },
    /// Opens a directory.
    OpenDirectory {
        /// The path.
        path: Vec<u8>,
    },
    /// Reads the next entries of a directory.
    ReadDirectory {
        /// The handle.
        handle: Vec<u8>,
    },
    /// Removes a file.
    Remove {
        /// The path.
        path: Vec<u8>,
    },
    /// Creates a directory.
    MakeDirectory {
        /// The path.
        path: Vec<u8>,
        /// Attributes, of which the mode counts.
        attributes: Attributes,
    },
    /// Removes an empty directory.
    RemoveDirectory {
        /// The path.
        path: Vec<u8>,
    },
    /// Resolves a path to an absolute one without symlinks.
    RealPath {
        /// The path.
        path: Vec<u8>,
    },
    /// Reads the attributes of a file.
    Stat {
        /// The path.
        path: Vec<u8>,
    },
    /// Renames a file, unless the new path exists.
    Rename {
        /// The path of the file.
        from: Vec<u8>,
        /// The new path.
        to: Vec<u8>,
    },
    /// Reads the target of a symlink.
    ReadLink {
        /// The path.
        path: Vec<u8>,
    },
    /// Creates a symlink.
    Symlink {
        /// The target, which is not resolved.
        target: Vec<u8>,
        /// The path of the symlink.
        link: Vec<u8>,
    },
    /// A request of an extension.
    Extended(Extension),
}
