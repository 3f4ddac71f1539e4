//! Files of the host, and the registered disks among them.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::called_disk::CalledDisk;
use crate::registry;
use crate::storage::{DynStorage, Storage, StorageOpenOptions};

/// The unit in which a disk forgets blocks, in bytes, where the filesystem does not say: a page.
const DISCARD_ALIGN: usize = 4096;

/// An open file, or a disk that was registered under its path.
#[derive(Debug)]
pub struct File {
    pub(crate) path: PathBuf,
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
        Ok(Self { path, content })
    }
}

impl Storage for File {
    fn discard_align(&self) -> usize {
        let block_bytes = match &self.content {
            Content::File(file) => rustix::fs::fstatvfs(file).ok().map(|stat| stat.f_frsize),
            Content::Registered(_) => None,
        };
        block_bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
            .filter(|bytes| bytes.is_power_of_two())
            .unwrap_or(DISCARD_ALIGN)
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
