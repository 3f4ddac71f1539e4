use crate::InvalidName;

/// A reason why a path of a tree does not lead to what was asked for. Paths are shown with bytes
/// that are not UTF-8 replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// No inode has this path.
    #[error("'{path}' does not exist")]
    NotFound {
        /// The path that was asked for.
        path: String,
    },
    /// A component of the path that is not the last one is no directory, or a directory was asked
    /// for.
    #[error("'{path}' is not a directory")]
    NotADirectory {
        /// The path up to this component.
        path: String,
    },
    /// The inode is not a regular file.
    #[error("'{path}' is not a regular file")]
    NotAFile {
        /// The path that was asked for.
        path: String,
    },
    /// The inode is not a symlink.
    #[error("'{path}' is not a symlink")]
    NotASymlink {
        /// The path that was asked for.
        path: String,
    },
    /// An inode with this path exists already.
    #[error("'{path}' already exists")]
    Exists {
        /// The path that was to be made.
        path: String,
    },
    /// More symlinks would have to be followed than the limit allows.
    #[error("'{path}' leads through more than {limit} symlinks")]
    TooManySymlinks {
        /// The path that was asked for.
        path: String,
        /// The limit, [`SYMLINKS_MAX`](crate::SYMLINKS_MAX).
        limit: u32,
    },
    /// A component of the path cannot be a name.
    #[error("cannot create '{path}'")]
    Name {
        /// The path that was to be made.
        path: String,
        /// The reason.
        #[source]
        source: InvalidName,
    },
}

/// Returns a path for a message.
pub(crate) fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
