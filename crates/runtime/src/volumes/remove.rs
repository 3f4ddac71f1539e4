use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;

use super::volume::io_error;
use super::{Guard, Volume, VolumeConflict, VolumeError, VolumeUse, in_use};
use crate::Home;
use durable_files::{random, remove_files};

impl Volume {
    /// Removes the volume and its content.
    /// If the removal is cut short, the volume is either unchanged or an unnamed leftover for the
    /// next [`sweep`](Self::sweep).
    ///
    /// # Errors
    /// If a sandbox uses the volume, or its directory cannot be removed.
    pub fn remove(self, home: &Home) -> Result<(), VolumeError> {
        let volumes = home.volumes();
        let guard = Guard::to_remove(home).map_err(io_error("lock", &volumes))?;
        self.check_unused(home)?;
        let directory = &self.files.directory;
        // A full disk has room for a rename, but maybe not for a new directory.
        let word = random::<8>().map_err(io_error("remove", directory))?;
        let word = format!("{}{}", durable_files::UNFINISHED, hex::encode(word));
        let unfinished = volumes.join(word);
        fs::rename(directory, &unfinished).map_err(io_error("remove", directory))?;
        durable_files::sync_directory(&volumes).map_err(io_error("sync", &volumes))?;
        // The removal may take long, and must not block other volumes.
        drop(guard);
        clear(&unfinished)
    }

    /// Removes leftovers of processes that ended while they created or removed a volume.
    ///
    /// # Errors
    /// If the directory of volumes cannot be read, or a leftover cannot be removed.
    pub fn sweep(home: &Home) -> Result<(), VolumeError> {
        let volumes = home.volumes();
        let failed = |action| io_error(action, &volumes);
        if !fs::exists(&volumes).map_err(failed("list"))? {
            return Ok(());
        }
        // The guard excludes creations, and the random name of a leftover is never used again.
        let guard = Guard::to_remove(home).map_err(failed("lock"))?;
        let remains = remains(&volumes).map_err(failed("list"))?;
        drop(guard);
        remains.iter().try_for_each(|path| clear(path))
    }

    fn check_unused(&self, home: &Home) -> Result<(), VolumeError> {
        let name = self.spec.name.clone();
        let sandboxes = self.sandboxes(home)?;
        if !sandboxes.is_empty() {
            return Err(VolumeError::Needed { name, sandboxes });
        }
        let wanted = VolumeUse {
            volume: name.clone(),
            read_only: false,
        };
        match in_use(home, &wanted) {
            Ok(false) => Ok(()),
            // The sandbox of the machine that uses the volume was removed meanwhile.
            Ok(true) => Err(VolumeError::InUse {
                name,
                sandbox: None,
                conflict: VolumeConflict::Removal,
            }),
            Err(_) if matches!(self.files.directory.try_exists(), Ok(false)) => {
                Err(VolumeError::Missing { name })
            }
            Err(error) => {
                let error = io::Error::other(error);
                Err(io_error("open", &self.files.lock())(error))
            }
        }
    }
}

/// Returns the directories of unfinished volumes.
fn remains(volumes: &Path) -> io::Result<Vec<PathBuf>> {
    let mut remains = Vec::new();
    for entry in fs::read_dir(volumes)? {
        let entry = entry?;
        let name = entry.file_name();
        if name
            .as_encoded_bytes()
            .starts_with(durable_files::UNFINISHED.as_bytes())
        {
            remains.push(entry.path());
        }
    }
    Ok(remains)
}

/// Removes a directory that another process may be removing too.
fn clear(directory: &Path) -> Result<(), VolumeError> {
    remove_files(directory);
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io_error("remove", directory)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const SMALL: u64 = 16 << 20;

    fn made(home: &Home) -> Result<Volume, VolumeError> {
        Volume::create(
            home,
            "data".parse().expect("a name"),
            SMALL,
            BTreeMap::new(),
        )
    }

    fn names(home: &Home) -> Vec<String> {
        let entries = fs::read_dir(home.volumes()).expect("listed");
        let name = |entry: io::Result<fs::DirEntry>| {
            let name = entry.expect("listed").file_name();
            name.into_string().expect("text")
        };
        let mut names: Vec<_> = entries.map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_removal_that_was_cut_short_takes_no_name_and_goes_with_the_next() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let volume = made(&home).expect("made");
        // A removal or creation that is killed leaves such directories.
        let half = home.volumes().join(".new-half");
        fs::create_dir(&half).expect("made");
        fs::rename(volume.directory(), &half).expect("renamed");
        fs::remove_file(half.join("volume.json")).expect("removed");
        fs::create_dir(home.volumes().join(".new-none")).expect("made");
        let again = made(&home).expect("the name is free");
        Volume::sweep(&home).expect("swept");
        assert_eq!(names(&home), [".lock", "data"]);
        again.remove(&home).expect("removed");
        assert_eq!(names(&home), [".lock"]);
    }

    #[test]
    fn what_is_being_made_is_not_swept() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let guard = Guard::to_name(&home).expect("free");
        fs::create_dir(home.volumes().join(".new-data")).expect("made");
        let sweeping = {
            let home = home.clone();
            std::thread::spawn(move || Volume::sweep(&home))
        };
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(names(&home), [".lock", ".new-data"]);
        drop(guard);
        sweeping.join().expect("no panic").expect("swept");
        assert_eq!(names(&home), [".lock"]);
    }
}
