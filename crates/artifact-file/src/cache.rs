use std::fs::File;
use std::io;
use std::path::Path;

use artifact_cache::CacheFile;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// The cache file of a packed artifact.
#[derive(Debug)]
pub(crate) enum Cache {
    Open(File),
    /// It cannot be made, for example because the filesystem is full or read-only. Nothing is kept then.
    Absent(io::Error),
}

impl Cache {
    /// Opens the cache file of an artifact of `length_bytes`, and makes it if it does not exist.
    pub(crate) fn open(path: &Path, length_bytes: u64) -> Self {
        open(path, length_bytes).map_or_else(Self::Absent, Self::Open)
    }

    /// Returns the error of a file that could not be made, again.
    fn absence(error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), error.to_string())
    }
}

fn open(path: &Path, length_bytes: u64) -> io::Result<File> {
    let file = durable_files::open_or_create(path)?;
    if file.metadata()?.len() != length_bytes {
        file.set_len(length_bytes)?;
    }
    Ok(file.into_parts().0)
}

impl CacheFile for Cache {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        match self {
            Self::Open(file) => CacheFile::read_exact_at(file, buf, offset_bytes),
            Self::Absent(error) => Err(Self::absence(error)),
        }
    }

    fn write_all_at(&self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        match self {
            Self::Open(file) => {
                // A write beyond the process's limit would end the process by a signal.
                let length_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                let end_bytes = offset_bytes.saturating_add(length_bytes);
                let limit_bytes = getrlimit(Resource::Fsize).current;
                if limit_bytes.is_some_and(|limit_bytes| end_bytes > limit_bytes) {
                    return Err(Errno::FBIG.into());
                }
                CacheFile::write_all_at(file, bytes, offset_bytes)
            }
            Self::Absent(error) => Err(Self::absence(error)),
        }
    }

    fn punch(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        match self {
            Self::Open(file) => CacheFile::punch(file, offset_bytes, length_bytes),
            Self::Absent(_) => Ok(()),
        }
    }

    fn allocated_bytes(&self) -> io::Result<u64> {
        match self {
            Self::Open(file) => CacheFile::allocated_bytes(file),
            Self::Absent(_) => Ok(0),
        }
    }
}
