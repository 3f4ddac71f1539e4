use std::fs::{self, File, TryLockError};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use durable_files::{create_new, each_at_once, ensure_directory, open_or_create, sync_directory};
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::{Errno, preadv, pwritev};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::base::Base;
use crate::pool_file::PoolFile;
use crate::storage::{Access, Storage, StorageFile};

/// The most buffers of one call of the kernel (`UIO_MAXIOV`, uapi/linux/uio.h).
const BUFFERS_MAX: usize = 1024;

/// A pool in a directory of this host. Files are made for their owner alone.
#[derive(Debug)]
pub struct FileStorage {
    directory: PathBuf,
}

impl FileStorage {
    /// Opens a directory, and makes it if it does not exist.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn open(directory: &Path) -> io::Result<Self> {
        ensure_directory(directory)?;
        Ok(Self {
            directory: directory.to_owned(),
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

impl Storage for FileStorage {
    type File = PoolFile;
    type Lock = FileLock;

    fn create(&self, name: &str) -> io::Result<PoolFile> {
        let created = create_new(&self.path(name))?;
        Ok(PoolFile::Own(created.into_file()))
    }

    fn open(&self, name: &str, access: Access) -> io::Result<PoolFile> {
        let mut options = File::options();
        options.read(true).write(access == Access::Write);
        Ok(PoolFile::Own(options.open(self.path(name))?))
    }

    fn open_base(&self, base: &Base) -> io::Result<PoolFile> {
        Ok(PoolFile::Base(Box::new(base.open(&self.directory)?)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn link(&self, source: &Path, name: &str) -> io::Result<()> {
        fs::hard_link(source, self.path(name))
    }

    fn link_into(&self, name: &str, other: &Self) -> io::Result<()> {
        match fs::hard_link(self.path(name), other.path(name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    }

    fn is_same(&self, source: &Path, name: &str) -> io::Result<bool> {
        let source = fs::symlink_metadata(source)?;
        match fs::symlink_metadata(self.path(name)) {
            Ok(found) => Ok((found.dev(), found.ino()) == (source.dev(), source.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn unlink_source(&self, source: &Path) -> io::Result<()> {
        match fs::remove_file(source) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => sync_directory(durable_files::directory_of(source)),
        }
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            // A name that is no text is none of the pool's.
            names.extend(entry?.file_name().into_string().ok());
        }
        Ok(names)
    }

    fn sync_names(&self) -> io::Result<()> {
        sync_directory(&self.directory)
    }

    fn sync_files(&self, files: &[&PoolFile]) -> Result<(), (usize, io::Error)> {
        let mut own = Vec::with_capacity(files.len());
        for (index, file) in files.iter().enumerate() {
            own.push((index, file.own().map_err(|error| (index, error))?));
        }
        // A journal makes the syncs of several threads durable by one commit.
        each_at_once(&own, |(index, file)| {
            file.sync_data().map_err(|error| (*index, error))
        })
    }

    fn lock(&self, name: &str, access: Access) -> io::Result<Option<FileLock>> {
        let file = open_or_create(&self.path(name))?.into_file();
        let taken = match access {
            Access::Read => file.try_lock_shared(),
            Access::Write => file.try_lock(),
        };
        match taken {
            Ok(()) => Ok(Some(FileLock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn random(&self) -> io::Result<[u8; 16]> {
        // Up to 256 bytes are never given in part (getrandom(2)).
        let mut bytes = [0; 16];
        getrandom(&mut bytes, GetRandomFlags::empty())?;
        Ok(bytes)
    }
}

/// A lock of a pool's file (flock(2)), which ends when this value is dropped.
#[derive(Debug)]
pub struct FileLock(File);

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing the file is not enough if a child process was forked in between.
        let _ = self.0.unlock();
    }
}

impl StorageFile for File {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, buf, offset_bytes)
    }

    fn read_vectored_at(
        &self,
        mut buffers: &mut [IoSliceMut<'_>],
        mut offset_bytes: u64,
    ) -> io::Result<()> {
        IoSliceMut::advance_slices(&mut buffers, 0);
        while !buffers.is_empty() {
            let count = buffers.len().min(BUFFERS_MAX);
            let read = match preadv(
                self,
                buffers.get_mut(..count).unwrap_or_default(),
                offset_bytes,
            ) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(Errno::INTR) => 0,
                read => read?,
            };
            offset_bytes += u64::try_from(read).map_err(io::Error::other)?;
            IoSliceMut::advance_slices(&mut buffers, read);
        }
        Ok(())
    }

    fn write_all_at(&self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset_bytes)
    }

    fn write_vectored_at(
        &self,
        mut buffers: &mut [IoSlice<'_>],
        mut offset_bytes: u64,
    ) -> io::Result<()> {
        IoSlice::advance_slices(&mut buffers, 0);
        while !buffers.is_empty() {
            let count = buffers.len().min(BUFFERS_MAX);
            let written =
                match pwritev(self, buffers.get(..count).unwrap_or_default(), offset_bytes) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Err(Errno::INTR) => 0,
                    written => written?,
                };
            offset_bytes += u64::try_from(written).map_err(io::Error::other)?;
            IoSlice::advance_slices(&mut buffers, written);
        }
        Ok(())
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn set_size(&self, size_bytes: u64) -> io::Result<()> {
        self.set_len(size_bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn punch(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(self, flags, offset_bytes, length_bytes) {
            // A filesystem without holes keeps the space.
            Err(Errno::OPNOTSUPP) => Ok(()),
            punched => Ok(punched?),
        }
    }

    fn next_data(&self, offset_bytes: u64) -> io::Result<u64> {
        let size_bytes = self.metadata()?.len();
        match seek(self, SeekFrom::Data(offset_bytes)) {
            Ok(offset_bytes) => Ok(offset_bytes.min(size_bytes)),
            Err(Errno::NXIO) => Ok(size_bytes),
            // A filesystem that cannot tell reports data everywhere.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(offset_bytes),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_although_another_process_has_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let storage = FileStorage::open(directory.path()).unwrap();
        let lock = storage.lock("lock", Access::Write).unwrap().unwrap();
        // A duplicate is what a process has that was forked meanwhile.
        let _inherited = lock.0.try_clone().unwrap();
        assert!(storage.lock("lock", Access::Read).unwrap().is_none());
        drop(lock);
        assert!(storage.lock("lock", Access::Write).unwrap().is_some());
    }
}
