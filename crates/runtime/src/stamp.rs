//! Stamps: findings about a file, kept beside it, and valid while the file has not changed.
//!
//! A stamp is never needed. One that is missing, truncated or wrong costs the work that it saves.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use fs_err as fs;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::durable;

/// Longer than one tick of the clock of file times. A second change within a tick would not change
/// a file's times.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// The attributes of a file that the host's kernel changes with every write, and others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileState {
    device: u64,
    inode: u64,
    size_bytes: u64,
    modified_s: i64,
    modified_ns: i64,
    changed_s: i64,
    changed_ns: i64,
}

impl FileState {
    /// Returns the state of a file at this moment.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size_bytes: metadata.len(),
            modified_s: metadata.mtime(),
            modified_ns: metadata.mtime_nsec(),
            changed_s: metadata.ctime(),
            changed_ns: metadata.ctime_nsec(),
        })
    }

    /// Returns true if a further change would change the times. A file that changed a moment ago
    /// gets no stamp.
    pub(crate) fn is_at_rest(&self) -> bool {
        let (Ok(seconds), Ok(nanoseconds)) = (
            u64::try_from(self.changed_s),
            u32::try_from(self.changed_ns),
        ) else {
            return false;
        };
        let changed = UNIX_EPOCH + Duration::new(seconds, nanoseconds);
        changed.elapsed().is_ok_and(|rested| rested > CLOCK_TICK)
    }
}

/// Reads the stamp at `path`; `None` if it does not exist or cannot be parsed.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Writes a stamp. An error is ignored: a missing stamp only costs time later.
pub(crate) fn put<T: Serialize>(path: &Path, found: &T) {
    let _ = serde_json::to_vec(found)
        .map_err(io::Error::from)
        .and_then(|bytes| durable::replace_bytes(path, &bytes));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_written_to_has_another_state() {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, stamp) = (
            directory.path().join("file"),
            directory.path().join("stamp"),
        );
        fs::write(&path, b"a").expect("written");
        let state = FileState::of(&path).expect("there");
        put(&stamp, &state);
        assert_eq!(read::<FileState>(&stamp), Some(state.clone()));
        let modified = fs::metadata(&path).and_then(|file| file.modified());
        while !FileState::of(&path).expect("there").is_at_rest() {
            std::thread::sleep(CLOCK_TICK);
        }
        // The same length, with the earlier time of modification restored.
        fs::write(&path, b"b").expect("written");
        let file = fs::File::options().write(true).open(&path).expect("opened");
        file.file()
            .set_modified(modified.expect("a time"))
            .expect("set");
        assert_ne!(FileState::of(&path).expect("there"), state);
        fs::write(&stamp, b"{").expect("written");
        assert_eq!(read::<FileState>(&stamp), None);
    }
}
