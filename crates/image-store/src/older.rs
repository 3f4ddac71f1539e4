//! Stores of earlier formats, which this version does not read.

use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;

use super::Store;
use super::layout::FORMAT_VERSION;
use super::lock::{Lock, Mode};

/// A store of an earlier format, in the same home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OlderStore {
    /// Directory of the store.
    pub path: PathBuf,
    /// Length of all its files, in bytes.
    pub size_bytes: u64,
    /// True if a process of an earlier msb uses it.
    pub is_in_use: bool,
}

impl Store {
    /// Returns the stores of earlier formats, the oldest first. Those of later ones are not this version's
    /// to judge.
    ///
    /// # Errors
    /// If the directory of stores cannot be read.
    pub fn older_stores(&self) -> io::Result<Vec<OlderStore>> {
        let versions = versions_before(&self.layout.stores(), FORMAT_VERSION)?;
        let stores = versions.into_iter().map(|path| {
            Ok(OlderStore {
                size_bytes: size_bytes(&path)?,
                is_in_use: is_in_use(&path)?,
                path,
            })
        });
        stores.collect()
    }

    /// Removes a store of an earlier format.
    ///
    /// # Errors
    /// If it cannot be removed. A part of it may be gone then.
    pub fn remove_older(&self, store: &OlderStore) -> io::Result<()> {
        fs::remove_dir_all(&store.path)?;
        durable_files::sync_directory(&self.layout.stores())
    }

    /// Returns true if a home has a store of an earlier format, and none of this one yet.
    pub fn is_new_beside_older(home: &Path) -> bool {
        let layout = super::layout::Layout::new(home);
        let stores = layout.stores();
        let has_own = stores.join(format!("v{FORMAT_VERSION}")).exists();
        !has_own && versions_before(&stores, FORMAT_VERSION).is_ok_and(|older| !older.is_empty())
    }
}

/// Returns the directories of the formats before `version`, the oldest first.
fn versions_before(stores: &Path, version: u32) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(stores) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix('v'));
        let number = number.and_then(|number| number.parse::<u32>().ok());
        if let Some(number) = number.filter(|number| *number < version)
            && entry.file_type()?.is_dir()
        {
            found.push((number, entry.path()));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Returns the length of all files below a directory, in bytes. Links are not followed.
fn size_bytes(directory: &Path) -> io::Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        total += if metadata.is_dir() {
            size_bytes(&entry.path())?
        } else {
            metadata.len()
        };
    }
    Ok(total)
}

/// Returns true if a process holds one of the store's locks: every format has had them in this directory.
fn is_in_use(store: &Path) -> io::Result<bool> {
    let entries = match fs::read_dir(store.join("locks")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_file() && Lock::try_take(&entry.path(), Mode::Exclusive)?.is_none()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_of_an_earlier_format_is_found_measured_and_removed_unless_it_is_used() {
        let home = tempfile::tempdir().expect("a directory");
        let stores = home.path().join("store");
        let (older, later) = (stores.join("v1"), stores.join("v99"));
        for directory in [older.join("artifacts"), older.join("locks"), later.clone()] {
            fs::create_dir_all(directory).expect("made");
        }
        fs::write(older.join("artifacts/layer.erofs"), [0; 5000]).expect("written");
        fs::write(stores.join("v0"), "no directory").expect("written");
        assert!(Store::is_new_beside_older(home.path()));
        let store = Store::open(home.path()).expect("opened");
        assert!(!Store::is_new_beside_older(home.path()));
        let held = Lock::try_take(&older.join("locks/store"), Mode::Shared).expect("a lock");
        let found = store.older_stores().expect("read");
        let [found] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(
            (&found.path, found.size_bytes, found.is_in_use),
            (&older, 5000, true)
        );
        drop(held);
        let found = store.older_stores().expect("read").remove(0);
        assert!(!found.is_in_use);
        store.remove_older(&found).expect("removed");
        assert!(!older.exists() && later.exists());
    }
}
