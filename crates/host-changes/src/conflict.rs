/// A file of the host that is in the way of a change, or a change that the host cannot have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Path of the file, relative to the directory.
    pub path: Vec<u8>,
    /// The reason.
    pub reason: ConflictReason,
}

/// A reason why a change cannot be put into a directory of the host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConflictReason {
    /// The host's file is neither what the sandbox began with nor what it made of it.
    #[error("it differs from both the old and the new file of the sandbox")]
    Differs,
    /// The sandbox added the file, and the host has another one.
    #[error("the sandbox added it, and it already exists with other content or permissions")]
    Exists,
    /// The host's directory has files that the sandbox never had.
    #[error("the sandbox removed this directory, and it has other files here, such as '{}'", .name.escape_ascii())]
    OtherFiles {
        /// Name of one of them.
        name: Vec<u8>,
    },
    /// A directory on the way is not one on the host; a symlink is not followed.
    #[error("'{}' is not a directory", .path.escape_ascii())]
    NoDirectory {
        /// Path of the other file, relative to the directory.
        path: Vec<u8>,
    },
    /// The file is a device, which is not made on the host.
    #[error("it is a device")]
    Device,
    /// The host's directory ignores case, and takes the name for another one.
    #[error("its directory on this host ignores case, and '{}' is the same name there", .other.escape_ascii())]
    SameName {
        /// The other name, in the same directory.
        other: Vec<u8>,
    },
    /// The name is one of those of unfinished files.
    #[error("its name is reserved for unfinished files of msb apply")]
    ReservedName,
}
