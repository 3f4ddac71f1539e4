//! Files of the host, and the registered disks among them.

use std::fs;
use std::io;

use crate::called_disk::CalledDisk;
use crate::flat_file::{DISCARD_BYTES, discard_unit};
use crate::registry;
use crate::storage::{DynStorage, Storage, StorageOpenOptions};

/// An open file, or a disk that was registered under its path.
#[derive(Debug)]
pub struct File {
    pub(crate) content: Content,
}

/// The file or disk that a path leads to.
#[derive(Debug)]
pub(crate) enum Content {
    File(fs::File),
    Registered(CalledDisk),
}

impl File {
    /// Opens a path. A disk that is registered under it can be opened once.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open_sync(options: StorageOpenOptions) -> io::Result<Self> {
        let StorageOpenOptions { path, is_writable } = options;
        let content = match registry::take(&path) {
            Some(disk) => Content::Registered(CalledDisk::new(disk)),
            None => {
                let mut to_open = fs::File::options();
                to_open.read(true).write(is_writable);
                Content::File(to_open.open(&path)?)
            }
        };
        Ok(Self { content })
    }
}

impl Storage for File {
    fn discard_align(&self) -> usize {
        let bytes = match &self.content {
            Content::File(file) => discard_unit(file),
            Content::Registered(_) => DISCARD_BYTES,
        };
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }
}

impl DynStorage for File {
    fn into_file(self: Box<Self>) -> File {
        *self
    }
}

impl Storage for Box<dyn DynStorage> {
    fn discard_align(&self) -> usize {
        self.as_ref().discard_align()
    }
}
