use std::io::{self, IoSlice, IoSliceMut};
use std::path::Path;

use crate::Base;
use crate::block::length_of;

/// The files of a pool: one directory, in which a name is a file. All effects of the crate go
/// through it, so that tests can cut the power between any two of them.
pub trait Storage {
    /// An open file.
    type File: StorageFile;
    /// A lock, released when it is dropped.
    type Lock;

    /// Makes a file that does not exist yet, and opens it for reading and writing.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken; otherwise the system's error.
    fn create(&self, name: &str) -> io::Result<Self::File>;

    /// Opens a file for reading, and for writing if the owner may.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; otherwise the system's error.
    fn open(&self, name: &str, access: Access) -> io::Result<Self::File>;

    /// Opens the disk that a base names, which lies outside of the pool, for reading.
    ///
    /// # Errors
    /// The system's error, or [`BaseError`](crate::BaseError) if the disk is not what it was.
    fn open_base(&self, base: &Base) -> io::Result<Self::File>;

    /// Renames a file, also over another one. Not durable before [`Storage::sync_names`].
    ///
    /// # Errors
    /// The system's error.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Gives a file that lies elsewhere on the same filesystem a name in the pool, too.
    ///
    /// # Errors
    /// The system's error.
    fn link(&self, source: &Path, name: &str) -> io::Result<()>;

    /// Gives a file the same name in another storage of the same filesystem, too. Nothing happens if that
    /// has a file of the name. Not durable before [`Storage::sync_names`] of the other one.
    ///
    /// # Errors
    /// The system's error.
    fn link_into(&self, name: &str, other: &Self) -> io::Result<()>;

    /// Returns true if a file that lies elsewhere and one of the pool are the same file; false if the
    /// one of the pool does not exist.
    ///
    /// # Errors
    /// `NotFound` if the source does not exist; otherwise the system's error.
    fn is_same(&self, source: &Path, name: &str) -> io::Result<bool>;

    /// Removes a name that [`Storage::link`] gave another name to. Nothing happens if it does not
    /// exist.
    ///
    /// # Errors
    /// The system's error.
    fn unlink_source(&self, source: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; otherwise the system's error.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Returns the names of all files.
    ///
    /// # Errors
    /// The system's error.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Makes all names durable.
    ///
    /// # Errors
    /// The system's error.
    fn sync_names(&self) -> io::Result<()>;

    /// Makes the content of several files durable. A storage that can do so at once should.
    ///
    /// # Errors
    /// The system's error for a file, with the index of the file. The others may be durable or not.
    fn sync_files(&self, files: &[&Self::File]) -> Result<(), (usize, io::Error)> {
        let mut files = files.iter().enumerate();
        files.try_for_each(|(index, file)| file.sync().map_err(|error| (index, error)))
    }

    /// Takes a lock, making its file if it does not exist; `None` if another process holds it.
    ///
    /// # Errors
    /// The system's error.
    fn lock(&self, name: &str, access: Access) -> io::Result<Option<Self::Lock>>;

    /// Returns 16 bytes that nobody has drawn before.
    ///
    /// # Errors
    /// The system's error.
    fn random(&self) -> io::Result<[u8; 16]>;
}

/// The rights on an open file, or the kind of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading; a lock that several hold at once.
    Read,
    /// Reading and writing; a lock that excludes all others.
    Write,
}

/// An open file. All offsets and lengths are in bytes.
pub trait StorageFile {
    /// Fills `buf` with the bytes from `offset_bytes` on.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends before; otherwise the system's error.
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()>;

    /// Fills buffers, one after the other, with the bytes from `offset_bytes` on. A storage that can do so
    /// in one call should.
    ///
    /// # Errors
    /// Fails as [`StorageFile::read_exact_at`] does.
    fn read_vectored_at(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        offset_bytes: u64,
    ) -> io::Result<()> {
        read_each(buffers, offset_bytes, |buf, offset_bytes| {
            self.read_exact_at(buf, offset_bytes)
        })
    }

    /// Writes all of `bytes`. Any part may have been written if it fails.
    ///
    /// # Errors
    /// The system's error.
    fn write_all_at(&self, bytes: &[u8], offset_bytes: u64) -> io::Result<()>;

    /// Writes all of the buffers, one after the other, from `offset_bytes` on. A storage that can do so in
    /// one call should.
    ///
    /// # Errors
    /// Fails as [`StorageFile::write_all_at`] does.
    fn write_vectored_at(
        &self,
        buffers: &mut [IoSlice<'_>],
        mut offset_bytes: u64,
    ) -> io::Result<()> {
        for buffer in buffers {
            self.write_all_at(buffer, offset_bytes)?;
            offset_bytes += length_of(buffer);
        }
        Ok(())
    }

    /// Returns the length of the file.
    ///
    /// # Errors
    /// The system's error.
    fn size_bytes(&self) -> io::Result<u64>;

    /// Makes the file longer or shorter; new bytes are a hole.
    ///
    /// # Errors
    /// The system's error.
    fn set_size(&self, size_bytes: u64) -> io::Result<()>;

    /// Makes the content and the length durable.
    ///
    /// # Errors
    /// The system's error.
    fn sync(&self) -> io::Result<()>;

    /// Makes a range read as zeros and gives its space back. A storage that cannot do so may leave
    /// the bytes as they are.
    ///
    /// # Errors
    /// The system's error.
    fn punch(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()>;

    /// Returns the first offset from `offset_bytes` on at which the file may have another byte than
    /// zero; the length of the file if there is none.
    ///
    /// # Errors
    /// The system's error.
    fn next_data(&self, offset_bytes: u64) -> io::Result<u64>;
}

/// Fills buffers, one after the other, by a call for each.
pub(crate) fn read_each(
    buffers: &mut [IoSliceMut<'_>],
    mut offset_bytes: u64,
    mut read: impl FnMut(&mut [u8], u64) -> io::Result<()>,
) -> io::Result<()> {
    for buffer in buffers {
        read(buffer, offset_bytes)?;
        offset_bytes += length_of(buffer);
    }
    Ok(())
}
