/// Why the disks make no view.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The upper disk is no ext4, or its journal cannot be replayed.
    #[error("cannot open the upper disk")]
    Upper(#[source] ext4_writer::OpenError),
    /// The upper disk cannot be read.
    #[error("cannot read the upper disk")]
    ReadUpper(#[source] ext4_writer::ReadError),
    /// The image's metadata is no EROFS.
    #[error("cannot open the image's metadata")]
    Lower(#[source] erofs_writer::OpenError),
    /// The image's metadata cannot be read.
    #[error("cannot read the image's metadata")]
    ReadLower(#[source] erofs_writer::ReadError),
    /// The upper disk is none of a sandbox.
    #[error("the upper disk has no directory 'upper'")]
    NoUpper,
    /// Two directories say that they continue the same one of the image: no kernel does that.
    #[error("the upper disk shows a directory of the image twice, at '{}' too", .path.escape_ascii())]
    ShownTwice {
        /// Its second name, without the directories that lead to it.
        path: Vec<u8>,
    },
    /// A name in the index that says nothing of a file of the image.
    #[error("the upper disk's index holds '{}', a handle of unknown kind", .name.escape_ascii())]
    Handle {
        /// The name.
        name: Vec<u8>,
    },
}

/// Why a path leads to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// Something on the way, or the file, is not there.
    #[error("no such file or directory")]
    NotFound,
    /// Something on the way is no directory.
    #[error("not a directory")]
    NotDirectory,
    /// More symlinks on the way than the kernel follows.
    #[error("too many levels of symbolic links")]
    Loop,
}

/// Why a file's content cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// The content is the image's, whose file is not there.
    #[error("its content should be in the image, which does not have it")]
    Lost,
    /// The disk does not give it.
    #[error("cannot read its content")]
    Io(#[source] std::io::Error),
}
