use std::io;
use std::path::PathBuf;

use rootfs_view::ResolveError;

use crate::CopyError;

/// Why a sandbox's files cannot be changed before its first boot.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// A path in the sandbox leads nowhere.
    #[error("cannot follow '{path}' in the image")]
    Path {
        /// The path.
        path: String,
        /// Why.
        #[source]
        source: ResolveError,
    },
    /// There is nothing to remove.
    #[error("the image has no '{path}' to remove")]
    NotThere {
        /// The path.
        path: String,
    },
    /// A path that names no file in a directory.
    #[error("'{path}' names no file in a directory")]
    NoName {
        /// The path.
        path: String,
    },
    /// A machine shows something else there.
    #[error("'{path}' would not be seen: the sandbox has a file or directory of its own there")]
    Hidden {
        /// The path.
        path: String,
    },
    /// A directory cannot become another file, nor the other way round.
    #[error("'{path}' is a directory on one side and not on the other")]
    Mismatch {
        /// The path in the sandbox.
        path: String,
    },
    /// A copy that is not made.
    #[error("cannot copy {} into the sandbox", source_path.display())]
    Copy {
        /// What was to be copied.
        source_path: PathBuf,
        /// Why not.
        #[source]
        source: CopyError,
    },
    /// A file of this host.
    #[error("cannot read {}", path.display())]
    Host {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// More than the upper disk has.
    #[error("what is copied needs {needed_bytes} bytes, and the upper disk has {upper_bytes}")]
    TooLarge {
        /// What the files take.
        needed_bytes: u64,
        /// The size of the disk, of which its own structures take some.
        upper_bytes: u64,
    },
}
