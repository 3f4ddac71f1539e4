use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use fs_err as fs;
use serde::{Deserialize, Serialize};

/// Longer than one tick of the clock of file times. A second change within a tick would not change
/// a file's times.
pub const CLOCK_TICK: Duration = Duration::from_millis(20);

/// The attributes of a file that the host's kernel changes with every write, and others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
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
    ///
    /// # Errors
    /// If the file does not exist or cannot be examined.
    pub fn read(path: &Path) -> io::Result<Self> {
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
    pub fn is_at_rest(&self) -> bool {
        self.time_to_rest().is_none()
    }

    /// Returns the time until a further change would show in other times; `None` if it would now.
    pub fn time_to_rest(&self) -> Option<Duration> {
        time_to_rest(self.changed_s, self.changed_ns)
    }
}

/// Returns the time until a change after the one at this time would show in another time; `None`
/// if it would now. The time is in seconds and nanoseconds since the epoch.
pub fn time_to_rest(
    changed_s: impl TryInto<u64>,
    changed_ns: impl TryInto<u32>,
) -> Option<Duration> {
    let (Ok(seconds), Ok(nanoseconds)) = (changed_s.try_into(), changed_ns.try_into()) else {
        return None;
    };
    let changed = UNIX_EPOCH + Duration::new(seconds, nanoseconds);
    let rested = changed.elapsed().unwrap_or_default();
    CLOCK_TICK.checked_sub(rested)
}
