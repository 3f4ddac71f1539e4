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
        /// The path, as bytes of the client's choice.
        path: Vec<u8>,
        /// The way to open it: flags of `SSH_FXP_OPEN`.
        open: Open,
        /// Attributes of a new file, of which the mode counts.
        attributes: Attributes,
    },
    /// Closes a file or a directory.
    Close {
        /// The handle, as an earlier answer gave it.
        handle: Vec<u8>,
    },
    /// Reads from a file.
    Read {
        /// The handle, as an earlier answer gave it.
        handle: Vec<u8>,
        /// Offset in bytes from the file's start.
        offset_bytes: u64,
        /// The most bytes to read.
        length_bytes: u32,
    },
    /// Writes to a file.
    Write {
        /// The handle, as an earlier answer gave it.
        handle: Vec<u8>,
        /// Offset in bytes from the file's start.
        offset_bytes: u64,
        /// The bytes to be written.
        data: Vec<u8>,
    },
    /// Reads the attributes of a file, or of a symlink itself.
    LStat {
        /// The path, as bytes of the client's choice.
        path: Vec<u8>,
    },
    /// Reads the attributes of an open file.
    FStat {
        /// The handle, as an earlier answer gave it.
        handle: Vec<u8>,
    },
    /// Changes the attributes of a file.
    SetStat {
        /// The path, as bytes of the client's choice.
        path: Vec<u8>,
        /// The attributes that are changed.
        attributes: Attributes,
    },
    /// Changes the attributes of an open file.
    FSetStat {
        /// The handle, as an earlier answer gave it.
        handle: Vec<u8>,
        /// The attributes that are changed.
        attributes: Attributes,
    },
    /// Opens a directory to list it.
    OpenDirectory {
        /// The path, as bytes of the client's choice.
        path: Vec<u8>,
    },
    /// Reads the next entries of a directory.
    ReadDirectory {
        /// The handle, as an earlier answer gave it.
        handle: Vec<u8>,
    },
    /// Removes a file, but no directory.
    Remove {
        /// The path, as bytes of the client's choice.
        path: Vec<u8>,
    },
    /// Creates a directory; its parent must exist.
    MakeDirectory {
        /// The path, as bytes of the client's choice.
        path: Vec<u8>,
        /// Attributes, of which the mode counts.
        attributes: Attributes,
    },
    /// Removes an empty directory.
    RemoveDirectory {
        /// The path, as bytes of the client's choice.
        path: Vec<u8>,
    },
    /// Resolves a path to an absolute one without symlinks.
    RealPath {
        /// The path, as bytes of the client's choice.
        path: Vec<u8>,
    },
    /// Reads the attributes of a file.
    Stat {
        /// The path, as bytes of the client's choice.
        path: Vec<u8>,
    },
    /// Renames a file, unless the new path exists.
    Rename {
        /// The path of the file.
        from: Vec<u8>,
        /// The new path, as bytes of the client's choice.
        to: Vec<u8>,
    },
    /// Reads the target of a symlink.
    ReadLink {
        /// The path, as bytes of the client's choice.
        path: Vec<u8>,
    },
    /// Creates a symlink at a path.
    Symlink {
        /// The target, which is not resolved.
        target: Vec<u8>,
        /// The path of the symlink.
        link: Vec<u8>,
    },
    /// A request of an extension.
    Extended(Extension),
}
