/// An error while a view is opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The upper disk is not ext4, or its journal cannot be replayed.
    #[error("cannot open the upper disk")]
    Upper(#[source] ext4_writer::OpenError),
    /// The upper disk cannot be read.
    #[error("cannot read the upper disk")]
    ReadUpper(#[source] ext4_writer::ReadError),
    /// The upper disk's metadata takes too much memory.
    #[error(
        "the upper disk's metadata takes more than {limit_bytes} bytes of memory, the limit (disk-metadata)"
    )]
    UpperMemory {
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// The image's metadata is not EROFS.
    #[error("cannot open the image's metadata")]
    Lower(#[source] erofs_writer::OpenError),
    /// The image's metadata cannot be read.
    #[error("cannot read the image's metadata")]
    ReadLower(#[source] erofs_writer::ReadError),
    /// The upper disk does not belong to a sandbox: it lacks the directory of the root, or that of a staged one.
    #[error("the upper disk has no directory 'upper'")]
    NoUpper,
    /// The image of staged directories lacks one of them.
    #[error("the image of the staged directories lacks a directory of the sandbox")]
    NoStaged,
    /// Two directories refer to the same directory of the image, which no kernel writes.
    #[error("the upper disk has a directory of the image twice, the second time at '{}'", .path.escape_ascii())]
    ShownTwice {
        /// Name of the second directory, without its parents.
        path: Vec<u8>,
    },
    /// A name in the index is not a handle of a file in the image.
    #[error("the upper disk's index contains '{}', a handle of an unknown kind", .name.escape_ascii())]
    Handle {
        /// Name of the index entry.
        name: Vec<u8>,
    },
}

/// A reason for which a path does not lead to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The file, or a component before it, does not exist.
    #[error("no such file or directory")]
    NotFound,
    /// A component before the last is not a directory.
    #[error("not a directory")]
    NotDirectory,
    /// The path leads through more symlinks than the kernel follows.
    #[error("too many levels of symbolic links")]
    Loop,
}

/// A reason for which a file's content cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// The content should be in the image, but is missing there.
    #[error("its content is missing from the image")]
    Lost,
    /// The disk that holds the content cannot be read.
    #[error("cannot read its content")]
    Io(#[source] std::io::Error),
}
