use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::{Guard, Use, VolumeError, VolumeFiles, VolumeName, disk, in_use};
use crate::mounts::Mount;
use crate::sandbox::now_s;
use crate::{Home, Sandbox, State, durable};

/// Bytes of one of `st_blocks`, whatever the filesystem's own blocks are.
const STAT_BLOCK_BYTES: u64 = 512;

/// A volume as its directory describes it, in `volume.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeSpec {
    /// What it is called.
    pub name: VolumeName,
    /// Seconds since the epoch when it was made.
    pub created_s: u64,
    /// The size of its disk.
    pub size_bytes: u64,
    /// What the user marks it with.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// A named volume on this host.
#[derive(Debug, Clone)]
pub struct Volume {
    /// What it is.
    pub spec: VolumeSpec,
    files: VolumeFiles,
}

impl Volume {
    /// Makes a volume: under another name, durably, and then under its own.
    ///
    /// # Errors
    /// A name that is taken, a size that no ext4 has, a full disk. Nothing is left of it then.
    pub fn create(
        home: &Home,
        name: VolumeName,
        size_bytes: u64,
        labels: BTreeMap<String, String>,
    ) -> Result<Self, VolumeError> {
        let volumes = home.volumes();
        let files = home.volume(&name);
        fs::create_dir_all(&volumes).map_err(io_error("make", &volumes))?;
        if files.directory.exists() {
            return Err(VolumeError::Exists { name });
        }
        let spec = VolumeSpec {
            name,
            created_s: now_s(),
            size_bytes,
            labels,
        };
        let unfinished = tempfile::Builder::new()
            .prefix(durable::UNFINISHED)
            .tempdir_in(&volumes)
            .map_err(io_error("make a directory in", &volumes))?;
        fill(unfinished.path(), &spec)?;
        match fs::rename(unfinished.path(), &files.directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                return Err(VolumeError::Exists { name: spec.name });
            }
            Err(error) => return Err(io_error("make", &files.directory)(error)),
        }
        // It has another name now.
        let _ = unfinished.keep();
        durable::sync_directory(&volumes).map_err(io_error("sync", &volumes))?;
        Ok(Self { spec, files })
    }

    /// The volume of this name; made, if there is none.
    pub(crate) fn find_or_create(home: &Home, name: &VolumeName) -> Result<Self, VolumeError> {
        match Self::find(home, name) {
            Err(VolumeError::Missing { .. }) => {}
            found => return found,
        }
        match Self::create(home, name.clone(), super::VOLUME_BYTES, BTreeMap::new()) {
            // Somebody else was faster.
            Err(VolumeError::Exists { .. }) => Self::find(home, name),
            created => created,
        }
    }

    /// The volume of this name.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn find(home: &Home, name: &VolumeName) -> Result<Self, VolumeError> {
        let files = home.volume(name);
        let json = match fs::read(files.spec()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(VolumeError::Missing { name: name.clone() });
            }
            read => read.map_err(io_error("read", &files.spec()))?,
        };
        let spec = serde_json::from_slice(&json)
            .map_err(|error| io_error("read", &files.spec())(error.into()))?;
        Ok(Self { spec, files })
    }

    /// All volumes, by name.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn all(home: &Home) -> Result<Vec<Self>, VolumeError> {
        let failed = || io_error("list", &home.volumes());
        let entries = match fs::read_dir(home.volumes()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed())?,
        };
        let mut volumes = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed())?.file_name();
            // What is unfinished has no such name.
            let Some(Ok(name)) = name.to_str().map(str::parse) else {
                continue;
            };
            match Self::find(home, &name) {
                Err(VolumeError::Missing { .. }) => {}
                found => volumes.push(found?),
            }
        }
        volumes.sort_by(|one, other| one.spec.name.cmp(&other.spec.name));
        Ok(volumes)
    }

    /// Where its files are.
    pub fn directory(&self) -> &Path {
        &self.files.directory
    }

    /// What its disk takes on the host's: what was written, not its size.
    ///
    /// # Errors
    /// When the disk is not there.
    pub fn allocated_bytes(&self) -> io::Result<u64> {
        Ok(fs::metadata(self.files.disk())?.blocks() * STAT_BLOCK_BYTES)
    }

    /// The names of the sandboxes, running or not, that have it.
    ///
    /// # Errors
    /// When the directory of sandboxes cannot be read.
    pub fn sandboxes(&self, home: &Home) -> Result<Vec<String>, VolumeError> {
        let sandboxes = Sandbox::all(home).map_err(io_error("list", &home.sandboxes()))?;
        let of_this = |sandbox: &&Sandbox| {
            let mut mounts = sandbox.spec.mounts.iter();
            mounts.any(|mount| mount.volume() == Some(&self.spec.name))
        };
        let of_this = sandboxes.iter().filter(of_this);
        Ok(of_this.map(|sandbox| sandbox.spec.name.clone()).collect())
    }

    /// Looks whether no machine has it in a way that keeps another from it.
    pub(crate) fn check_free(&self, home: &Home, wanted: &Use) -> Result<(), VolumeError> {
        let path = self.files.lock();
        let used = in_use(home, wanted);
        let used = used.map_err(|error| io_error("open", &path)(io::Error::other(error)))?;
        if !used {
            return Ok(());
        }
        let name = self.spec.name.clone();
        let sandboxes = Sandbox::all(home).map_err(io_error("list", &home.sandboxes()))?;
        let has_it = |sandbox: &&Sandbox| {
            let is_of = |mount: &Mount| mount.volume() == Some(&name);
            sandbox.spec.mounts.iter().any(is_of) && matches!(sandbox.state(), Ok(State::Running))
        };
        let sandbox = sandboxes.iter().find(has_it);
        let sandbox = sandbox.map_or("that is ending", |sandbox| sandbox.spec.name.as_str());
        Err(VolumeError::InUse {
            name: name.clone(),
            sandbox: sandbox.to_owned(),
        })
    }

    /// Removes it, and what is in it.
    ///
    /// # Errors
    /// When a sandbox has it, or its directory cannot be removed.
    pub fn remove(self, home: &Home) -> Result<(), VolumeError> {
        let _guard = Guard::to_remove(home).map_err(io_error("lock", &home.volumes()))?;
        let name = self.spec.name.clone();
        let sandboxes = self.sandboxes(home)?;
        if !sandboxes.is_empty() {
            return Err(VolumeError::Needed { name, sandboxes });
        }
        let wanted = Use {
            volume: name.clone(),
            read_only: false,
        };
        match in_use(home, &wanted) {
            Ok(false) => {}
            // Its sandbox was removed under it.
            Ok(true) => {
                let sandbox = "that is being removed".to_owned();
                return Err(VolumeError::InUse { name, sandbox });
            }
            Err(_) if !self.files.directory.exists() => return Err(VolumeError::Missing { name }),
            Err(error) => {
                return Err(io_error("open", &self.files.lock())(io::Error::other(
                    error,
                )));
            }
        }
        let directory = &self.files.directory;
        // The description goes first: what is left of a removal cut short is no volume.
        fs::remove_file(self.files.spec()).map_err(io_error("remove", directory))?;
        fs::remove_dir_all(directory).map_err(io_error("remove", directory))?;
        durable::sync_directory(&home.volumes()).map_err(io_error("sync", &home.volumes()))
    }
}

fn fill(directory: &Path, spec: &VolumeSpec) -> Result<(), VolumeError> {
    let files = VolumeFiles {
        directory: directory.to_owned(),
    };
    disk::write(&files.disk(), spec.size_bytes)?;
    fs::File::create(files.lock()).map_err(io_error("write", &files.lock()))?;
    let json = serde_json::to_vec_pretty(spec).map_err(io::Error::from);
    json.and_then(|json| durable::publish_bytes(&files.spec(), &json))
        .map_err(io_error("write", &files.spec()))
}

fn io_error(action: &'static str, path: &Path) -> impl Fn(io::Error) -> VolumeError + use<> {
    let path: PathBuf = path.to_owned();
    move |source| VolumeError::Io {
        action,
        path: path.clone(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: u64 = 16 << 20;

    fn name(word: &str) -> VolumeName {
        word.parse().expect("a name")
    }

    #[test]
    fn volumes_are_made_found_and_removed() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        assert!(Volume::all(&home).expect("none").is_empty());
        let labels = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
        let made = Volume::create(&home, name("data"), SMALL, labels).expect("made");
        assert!(made.allocated_bytes().expect("there") < SMALL);
        let again = Volume::create(&home, name("data"), SMALL, BTreeMap::new());
        assert!(matches!(again, Err(VolumeError::Exists { .. })));
        let found = Volume::find_or_create(&home, &name("data")).expect("found");
        assert_eq!(found.spec, made.spec);
        assert_eq!(Volume::all(&home).expect("listed").len(), 1);
        made.remove(&home).expect("removed");
        let gone = Volume::find(&home, &name("data"));
        assert!(matches!(gone, Err(VolumeError::Missing { .. })));
        assert!(Volume::all(&home).expect("listed").is_empty());
    }

    #[test]
    fn nothing_is_left_of_one_that_was_not_made() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let made = Volume::create(&home, name("data"), 4096, BTreeMap::new());
        assert!(matches!(made, Err(VolumeError::Layout { .. })));
        let left = fs::read_dir(home.volumes()).expect("listed");
        assert_eq!(left.count(), 0);
    }

    #[test]
    fn one_writes_or_many_read() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let volume = Volume::create(&home, name("data"), SMALL, BTreeMap::new()).expect("made");
        let used = |read_only| Use {
            volume: name("data"),
            read_only,
        };
        let reader = super::super::hold(&home, &[used(true)]).expect("held");
        assert!(!in_use(&home, &used(true)).expect("looked"));
        assert!(in_use(&home, &used(false)).expect("looked"));
        let refused = volume.clone().remove(&home);
        assert!(matches!(refused, Err(VolumeError::InUse { .. })));
        drop(reader);
        let writer = super::super::hold(&home, &[used(false)]).expect("held");
        assert!(in_use(&home, &used(true)).expect("looked"));
        drop(writer);
        volume.remove(&home).expect("removed");
    }

    #[test]
    fn names_are_plain() {
        for word in ["a", "0", "My-data_1.x"] {
            assert_eq!(name(word).as_str(), word);
        }
        let long = "a".repeat(129);
        for word in ["", ".a", "-a", "a/b", "a b", "ä", "..", &long] {
            assert!(word.parse::<VolumeName>().is_err(), "{word}");
        }
    }
}
