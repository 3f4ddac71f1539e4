use std::fs::TryLockError;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err::{self as fs, File};

/// How often a lock that somebody else holds is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// How a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

/// An advisory lock (`flock`) on a file that exists for nothing else. It ends with this value or
/// with the process.
///
/// A holder of an exclusive lock may unlink its file. So whoever gets a lock checks that the file
/// still has its name, and begins anew when it has not.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
    unlink: bool,
}

impl Lock {
    /// Takes the lock if nobody holds it in the way.
    pub(crate) fn try_take(path: &Path, mode: Mode) -> io::Result<Option<Self>> {
        loop {
            let file = open(path)?;
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

    /// Takes an exclusive lock that others hold but for an instant.
    pub(crate) fn take_blocking(path: &Path) -> io::Result<Self> {
        loop {
            let file = open(path)?;
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
    pub(crate) async fn take(path: &Path, mode: Mode) -> io::Result<Self> {
        loop {
            if let Some(lock) = Self::try_take(path, mode)? {
                return Ok(lock);
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }

    /// Waits, without a runtime, for at most `limit`.
    pub(crate) fn take_within(
        path: &Path,
        mode: Mode,
        limit: Duration,
    ) -> io::Result<Option<Self>> {
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

    /// The same lock, whose file goes when it ends. Only for exclusive ones.
    pub(crate) fn unlinked_at_end(mut self) -> Self {
        self.unlink = true;
        self
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.unlink {
            // A file that stays is found unheld by the next sweep.
            let _ = fs::remove_file(&self.path);
        }
        // Closing would do, unless a child of this process was forked in between.
        let _ = self.file.unlock();
    }
}

fn open(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

/// The error of a lock with the file that it is of.
pub(super) fn cannot_lock(path: &Path, error: &io::Error) -> io::Error {
    let message = format!("failed to lock file `{}`: {error}", path.display());
    io::Error::new(error.kind(), message)
}

/// Whether `path` is still a name of `file`.
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
        let file = open(&path).expect("a file");
        fs::remove_file(&path).expect("removed");
        assert!(!is_named(&file, &path).expect("looked"));
        let _other = Lock::take_blocking(&path).expect("a new file");
        assert!(!is_named(&file, &path).expect("looked"));
    }
}
