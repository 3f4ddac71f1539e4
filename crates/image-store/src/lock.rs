//! Locks on images, artifacts and the store as a whole.

use std::fs::TryLockError;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err::{self as fs, File};

/// Time between attempts at a lock that is held.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Mode of a lock, as in flock(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Any number of processes hold the lock at once.
    Shared,
    /// One process holds the lock alone.
    Exclusive,
}

/// An advisory lock (flock(2)) on a file that exists for nothing else. It ends when this value is
/// dropped or the process ends.
///
/// The holder of an exclusive lock may unlink its file. So a process that gets a lock checks that
/// the file still has its name, and starts again if it has not.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
    unlink: bool,
}

impl Lock {
    /// Takes the lock; `None` if another holder prevents it.
    pub fn try_take(path: &Path, mode: Mode) -> io::Result<Option<Self>> {
        loop {
            let file = durable_files::open_or_create(path)?;
            let taken = match mode {
                Mode::Shared => file.try_lock_shared(),
                Mode::Exclusive => file.try_lock(),
            };
            match taken {
                Ok(()) if is_named(&file, path)? => {
                    return Ok(Some(Self {
                        file,
                        path: path.to_owned(),
                        unlink: false,
                    }));
                }
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(cannot_lock(path, &error)),
            }
        }
    }

    /// Takes an exclusive lock, which other holders keep only for an instant.
    pub fn take_blocking(path: &Path) -> io::Result<Self> {
        loop {
            let file = durable_files::open_or_create(path)?;
            file.lock()?;
            if is_named(&file, path)? {
                return Ok(Self {
                    file,
                    path: path.to_owned(),
                    unlink: false,
                });
            }
        }
    }

    /// Waits until the lock can be taken.
    pub async fn take(path: &Path, mode: Mode) -> io::Result<Self> {
        loop {
            if let Some(lock) = Self::try_take(path, mode)? {
                return Ok(lock);
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }

    /// Waits at most for `limit`, without an async runtime. Returns `None` if the lock is still
    /// held.
    pub fn take_within(path: &Path, mode: Mode, limit: Duration) -> io::Result<Option<Self>> {
        let mut waited = Duration::ZERO;
        loop {
            if let Some(lock) = Self::try_take(path, mode)? {
                return Ok(Some(lock));
            }
            if waited >= limit {
                return Ok(None);
            }
            std::thread::sleep(RETRY_INTERVAL);
            waited += RETRY_INTERVAL;
        }
    }

    /// Returns the same lock, whose file is unlinked when it ends. Only for exclusive locks.
    pub fn unlinked_at_end(mut self) -> Self {
        self.unlink = true;
        self
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.unlink {
            // If the file stays, the next sweep removes it.
            let _ = fs::remove_file(&self.path);
        }
        // Closing the file is not enough if a child process was forked in between.
        let _ = self.file.unlock();
    }
}

/// Returns the error of a lock, with the path of its file.
pub(super) fn cannot_lock(path: &Path, error: &io::Error) -> io::Error {
    let message = format!("failed to lock file `{}`: {error}", path.display());
    io::Error::new(error.kind(), message)
}

/// Returns true if `path` is still a name of `file`.
fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    let held = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_and_the_file_goes_with_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("lock");
        let take = |mode| Lock::try_take(&path, mode).expect("a lock file");
        let held = take(Mode::Exclusive).expect("free").unlinked_at_end();
        assert!(take(Mode::Exclusive).is_none());
        assert!(take(Mode::Shared).is_none());
        drop(held);
        assert!(!path.exists());
        let (_one, _other) = (
            take(Mode::Shared).expect("free"),
            take(Mode::Shared).expect("shared"),
        );
        assert!(take(Mode::Exclusive).is_none());
    }

    #[test]
    fn a_lock_on_a_file_that_lost_its_name_is_worth_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("lock");
        let file = durable_files::open_or_create(&path).expect("a file");
        fs::remove_file(&path).expect("removed");
        assert!(!is_named(&file, &path).expect("looked"));
        let _other = Lock::take_blocking(&path).expect("a new file");
        assert!(!is_named(&file, &path).expect("looked"));
    }
}
