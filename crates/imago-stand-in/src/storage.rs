use std::path::{Path, PathBuf};

use crate::file::File;

/// The parameters of opening a file.
#[derive(Debug, Clone, Default)]
pub struct StorageOpenOptions {
    pub(crate) path: PathBuf,
    pub(crate) is_writable: bool,
}

impl StorageOpenOptions {
    /// Returns the parameters of a file without a name, which is only read.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the path of the file.
    #[must_use]
    pub fn filename(mut self, path: impl AsRef<Path>) -> Self {
        path.as_ref().clone_into(&mut self.path);
        self
    }

    /// Says whether the file may be written.
    #[must_use]
    pub fn write(mut self, is_writable: bool) -> Self {
        self.is_writable = is_writable;
        self
    }

    /// Does nothing: msb asks for no I/O that goes past the host's cache.
    #[must_use]
    pub fn direct(self, _is_direct: bool) -> Self {
        self
    }

    /// Does nothing: each sync is a full one.
    #[must_use]
    pub fn relaxed_sync(self, _is_relaxed: bool) -> Self {
        self
    }
}

/// A file or a registered disk.
pub trait Storage {
    /// Returns the unit in which discards have an effect, in bytes: a power of two.
    fn discard_align(&self) -> usize;
}

/// A [`Storage`] of which nothing is known but that.
pub trait DynStorage: Storage + Send {
    /// Returns the file or disk behind the trait.
    fn into_file(self: Box<Self>) -> File;
}
