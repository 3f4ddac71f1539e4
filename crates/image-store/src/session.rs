//! Sessions: the unfinished files of one pull or load.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fs_err as fs;
use tempfile::TempDir;

use super::layout::Layout;
use super::lock::{Lock, Mode, cannot_lock};

/// Time for which the end of a session waits for its threads, and the interval of its checks.
const END_TIMEOUT: Duration = Duration::from_secs(10);
const END_INTERVAL: Duration = Duration::from_millis(2);

/// The unfinished files of one pull or load, in their own directory. They are removed with the
/// session, or by the next sweep if the process ends first.
#[derive(Debug)]
pub struct Session {
    directory: TempDir,
    /// Directory that is locked while the session exists.
    _alive: File,
    /// Lock that prevents removals.
    _store: Lock,
}

impl Session {
    /// Begins a session when no removal is in progress.
    pub async fn begin(layout: &Layout) -> io::Result<Self> {
        let store = Lock::take(&layout.store_lock(), Mode::Shared).await?;
        Self::begin_under(layout, store)
    }

    /// Begins a session when no removal is in progress, without an async runtime; `None` if that takes
    /// longer than `limit`.
    pub(crate) fn begin_within(layout: &Layout, limit: Duration) -> io::Result<Option<Self>> {
        let store = Lock::take_within(&layout.store_lock(), Mode::Shared, limit)?;
        let begin = |store| Self::begin_under(layout, store);
        store.map(begin).transpose()
    }

    /// Begins a session; `None` if a removal is in progress.
    pub(crate) fn try_begin(layout: &Layout) -> io::Result<Option<Self>> {
        let store = Lock::try_take(&layout.store_lock(), Mode::Shared)?;
        let begin = |store| Self::begin_under(layout, store);
        store.map(begin).transpose()
    }

    fn begin_under(layout: &Layout, store: Lock) -> io::Result<Self> {
        // Between its creation and its lock, a sweep would take the directory for a leftover.
        let _no_sweep = Lock::take_blocking(&layout.sweep_lock())?;
        let directory = durable_files::temporary_directory(&layout.temporary(), ".tmp")?;
        let alive = fs::File::open(directory.path())?.into_parts().0;
        alive
            .lock()
            .map_err(|error| cannot_lock(directory.path(), &error))?;
        Ok(Self {
            directory,
            _alive: alive,
            _store: store,
        })
    }

    /// Ends the session when it has no other users. Threads that were told to stop may still use
    /// it.
    pub async fn end(self: Arc<Self>) {
        let mut waited = Duration::ZERO;
        while Arc::strong_count(&self) > 1 && waited < END_TIMEOUT {
            tokio::time::sleep(END_INTERVAL).await;
            waited += END_INTERVAL;
        }
    }

    /// Makes `path` contain `bytes`, durably. A file with this content is not written again, but
    /// its directory is synced: the process that renamed the file may have been killed before its
    /// sync.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        match fs::read(path) {
            Ok(present) if present == bytes => {
                return path.parent().map_or(Ok(()), durable_files::sync_directory);
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let part = self.path(&format!("{name}.part"));
        durable_files::write_new(&part, bytes)?;
        durable_files::rename_all(&[(&part, path)])
    }

    /// Returns the path of an unfinished file.
    pub fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }
}

/// Removes leftovers: sessions and lock files that no process holds.
pub fn sweep(layout: &Layout) -> io::Result<()> {
    let _no_session = Lock::take_blocking(&layout.sweep_lock())?;
    for entry in fs::read_dir(layout.temporary())? {
        sweep_session(&entry?.path())?;
    }
    for entry in fs::read_dir(layout.locks())? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "lock")
        {
            drop(Lock::try_take(&path, Mode::Exclusive)?.map(Lock::unlinked_at_end));
        }
    }
    Ok(())
}

fn sweep_session(path: &Path) -> io::Result<()> {
    let directory = match fs::File::open(path) {
        Ok(directory) => directory,
        // Its session ended in this instant.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if directory.try_lock().is_err() {
        return Ok(());
    }
    let removed = if directory.metadata()?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_sweep_takes_the_dead_and_leaves_the_living() {
        let home = tempfile::tempdir().expect("a directory");
        let layout = Layout::new(home.path());
        layout.create().expect("a store");
        let living = Session::begin(&layout).await.expect("a session");
        fs::write(living.path("part"), b"x").expect("written");
        let dead = layout.temporary().join("dead");
        fs::create_dir(&dead).expect("made");
        fs::write(dead.join("part"), b"x").expect("written");
        let held_path = layout.locks().join("held.lock");
        let _held = Lock::try_take(&held_path, Mode::Shared)
            .expect("a file")
            .expect("free");
        fs::write(layout.locks().join("unheld.lock"), b"").expect("written");

        sweep(&layout).expect("swept");
        assert!(living.path("part").exists() && held_path.exists());
        assert!(!dead.exists() && !layout.locks().join("unheld.lock").exists());
        drop(living);
        assert_eq!(fs::read_dir(layout.temporary()).expect("listed").count(), 0);
    }
}
