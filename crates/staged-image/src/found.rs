use std::path::Path;

use fstree::FileData;
use path_rules::Rules;

use crate::stamp::Stamp;

/// A directory of the host that is staged, and the rules of its files.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The directory. A symlink is followed.
    pub directory: &'a Path,
    /// The rules, whose paths are relative to the directory.
    pub rules: &'a Rules,
}

/// The content of a regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// There is none: a rule denies the file.
    Denied,
    /// The file of the host.
    Host(Found),
}

/// A file of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// The number of the source.
    pub(crate) source: usize,
    /// The path below the source.
    pub(crate) path: Vec<u8>,
    pub(crate) stamp: Stamp,
    /// The place of the content in the image, once it is written.
    pub(crate) data: FileData,
}
