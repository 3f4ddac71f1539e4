use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};

use fstree::ReadAt as _;

use crate::base::BaseDisk;
use crate::storage::{StorageFile, read_each};

/// A file of a [`FileStorage`](crate::FileStorage), or the disk outside of it that a base names.
#[derive(Debug)]
pub enum PoolFile {
    /// A file in the directory.
    Own(File),
    /// Files outside of the directory, which are only read.
    Base(Box<BaseDisk>),
}

impl StorageFile for PoolFile {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        match self {
            Self::Own(file) => StorageFile::read_exact_at(file, buf, offset_bytes),
            Self::Base(disk) => disk.read_exact_at(buf, offset_bytes),
        }
    }

    fn read_vectored_at(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        offset_bytes: u64,
    ) -> io::Result<()> {
        match self {
            Self::Own(file) => file.read_vectored_at(buffers, offset_bytes),
            Self::Base(disk) => read_each(buffers, offset_bytes, |buf, offset_bytes| {
                disk.read_exact_at(buf, offset_bytes)
            }),
        }
    }

    fn write_all_at(&self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        self.own()?.write_all_at(bytes, offset_bytes)
    }

    fn write_vectored_at(&self, buffers: &mut [IoSlice<'_>], offset_bytes: u64) -> io::Result<()> {
        self.own()?.write_vectored_at(buffers, offset_bytes)
    }

    fn size_bytes(&self) -> io::Result<u64> {
        match self {
            Self::Own(file) => StorageFile::size_bytes(file),
            Self::Base(disk) => disk.size_bytes(),
        }
    }

    fn set_size(&self, size_bytes: u64) -> io::Result<()> {
        self.own()?.set_size(size_bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.own()?.sync()
    }

    fn punch(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        self.own()?.punch(offset_bytes, length_bytes)
    }

    fn next_data(&self, offset_bytes: u64) -> io::Result<u64> {
        match self {
            Self::Own(file) => file.next_data(offset_bytes),
            // Any byte may be other than zero.
            Self::Base(disk) => Ok(offset_bytes.min(disk.size_bytes()?)),
        }
    }
}

impl PoolFile {
    /// Returns the file, to be changed.
    pub(crate) fn own(&self) -> io::Result<&File> {
        match self {
            Self::Own(file) => Ok(file),
            Self::Base(_) => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
        }
    }
}
