//! Stamps: findings about a file, kept beside it, and valid while the file has not changed.
//!
//! A stamp is never needed. One that is missing, truncated or wrong costs the work that it saves.

use std::io;
use std::path::Path;

use fs_err as fs;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads the stamp at `path`; `None` if it does not exist or cannot be parsed.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Writes a stamp. An error is ignored: a missing stamp only costs time later.
pub(crate) fn put<T: Serialize>(path: &Path, found: &T) {
    let _ = serde_json::to_vec(found)
        .map_err(io::Error::from)
        .and_then(|bytes| durable_files::replace_bytes(path, &bytes));
}

#[cfg(test)]
mod tests {
    use durable_files::{CLOCK_TICK, FileState};

    use super::*;

    #[test]
    fn a_file_that_is_written_to_has_another_state() {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, stamp) = (
            directory.path().join("file"),
            directory.path().join("stamp"),
        );
        fs::write(&path, b"a").expect("written");
        let state = FileState::read(&path).expect("there");
        put(&stamp, &state);
        assert_eq!(read::<FileState>(&stamp), Some(state.clone()));
        let modified = fs::metadata(&path).and_then(|file| file.modified());
        while !FileState::read(&path).expect("there").is_at_rest() {
            std::thread::sleep(CLOCK_TICK);
        }
        // The same length, with the earlier time of modification restored.
        fs::write(&path, b"b").expect("written");
        let file = fs::File::options().write(true).open(&path).expect("opened");
        file.file()
            .set_modified(modified.expect("a time"))
            .expect("set");
        assert_ne!(FileState::read(&path).expect("there"), state);
        fs::write(&stamp, b"{").expect("written");
        assert_eq!(read::<FileState>(&stamp), None);
    }
}
