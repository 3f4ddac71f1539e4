use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use durable_files::{allocated_bytes, now_s};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::{Guard, VolumeConflict, VolumeError, VolumeFiles, VolumeName, VolumeUse, disk, in_use};
use crate::mounts::Mount;
use crate::sandbox::SandboxId;
use crate::{Home, Sandbox, State};

/// A volume's description, as `volume.json` in its directory holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeSpec {
    /// The volume's name.
    pub name: VolumeName,
    /// The creation time, in seconds since the epoch.
    pub created_s: u64,
    /// Size of the disk, in bytes.
    pub size_bytes: u64,
    /// Labels that the user gave.
    pub labels: BTreeMap<String, String>,
}

/// A named volume on this host.
#[derive(Debug, Clone)]
pub struct Volume {
    /// The volume's description.
    pub spec: VolumeSpec,
    pub(super) files: VolumeFiles,
}

impl Volume {
    /// Creates a volume under a temporary name, durably, and renames it.
    ///
    /// # Errors
    /// A name that is taken, a size that ext4 cannot have, a full disk. Nothing is left of the
    /// volume then.
    pub fn create(
        home: &Home,
        name: VolumeName,
        size_bytes: u64,
        labels: BTreeMap<String, String>,
    ) -> Result<Self, VolumeError> {
        let volumes = home.volumes();
        let guard = Guard::to_name(home).map_err(io_error("lock", &volumes))?;
        Self::make(home, &guard, name, size_bytes, labels)
    }

    /// Creates a volume. The guard keeps a sweep from removing the unfinished directory.
    fn make(
        home: &Home,
        _guard: &Guard,
        name: VolumeName,
        size_bytes: u64,
        labels: BTreeMap<String, String>,
    ) -> Result<Self, VolumeError> {
        let volumes = home.volumes();
        let files = home.volume(&name);
        if files.directory.exists() {
            return Err(VolumeError::Exists { name });
        }
        let spec = VolumeSpec {
            name,
            created_s: now_s(),
            size_bytes,
            labels,
        };
        let unfinished = durable_files::temporary_directory(&volumes, durable_files::UNFINISHED)
            .map_err(io_error("create a directory in", &volumes))?;
        fill(unfinished.path(), &spec)?;
        match fs::rename(unfinished.path(), &files.directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                return Err(VolumeError::Exists { name: spec.name });
            }
            Err(error) => return Err(io_error("create", &files.directory)(error)),
        }
        // The directory has its final name now.
        let _ = unfinished.keep();
        durable_files::sync_directory(&volumes).map_err(io_error("sync", &volumes))?;
        Ok(Self { spec, files })
    }

    /// Returns the volume with this name, and creates it if it does not exist.
    pub(crate) fn find_or_create(
        home: &Home,
        guard: &Guard,
        name: &VolumeName,
    ) -> Result<Self, VolumeError> {
        match Self::find(home, name) {
            Err(VolumeError::Missing { .. }) => {}
            found => return found,
        }
        let size_bytes = super::VOLUME_BYTES;
        match Self::make(home, guard, name.clone(), size_bytes, BTreeMap::new()) {
            // Another process was faster.
            Err(VolumeError::Exists { .. }) => Self::find(home, name),
            created => created,
        }
    }

    /// Returns the volume with this name.
    ///
    /// # Errors
    /// If the volume does not exist or cannot be read.
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

    /// Returns all volumes in the order of their names; an error for each that cannot be read.
    ///
    /// # Errors
    /// If the directory of volumes cannot be read.
    pub fn all(home: &Home) -> Result<Vec<Result<Self, VolumeError>>, VolumeError> {
        let failed = || io_error("list", &home.volumes());
        let entries = match fs::read_dir(home.volumes()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed())?,
        };
        let mut names: Vec<VolumeName> = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed())?.file_name();
            // Unfinished directories have names that are not valid volume names.
            names.extend(name.to_str().and_then(|name| name.parse().ok()));
        }
        names.sort();
        let found = names.iter().map(|name| Self::find(home, name));
        Ok(found
            .filter(|found| !matches!(found, Err(VolumeError::Missing { .. })))
            .collect())
    }

    /// Returns the volume's directory.
    pub fn directory(&self) -> &Path {
        &self.files.directory
    }

    /// Returns the size that the disk takes on the host's disk, in bytes.
    /// This is the size of the written blocks, not of the disk.
    ///
    /// # Errors
    /// If the volume was removed meanwhile, or its disk cannot be read.
    pub fn allocated_bytes(&self) -> Result<u64, VolumeError> {
        let disk = self.files.disk();
        match fs::metadata(&disk) {
            Ok(metadata) => Ok(allocated_bytes(&metadata)),
            Err(_) if matches!(self.files.directory.try_exists(), Ok(false)) => {
                Err(VolumeError::Missing {
                    name: self.spec.name.clone(),
                })
            }
            Err(error) => Err(io_error("inspect", &disk)(error)),
        }
    }

    /// Returns the names of the sandboxes, running or not, that mount the volume. Those whose
    /// descriptions cannot be read are among them, because they may.
    ///
    /// # Errors
    /// If the directory of sandboxes cannot be read.
    pub fn sandboxes(&self, home: &Home) -> Result<Vec<String>, VolumeError> {
        let listing = Sandbox::list(home).map_err(io_error("list", &home.sandboxes()))?;
        let of_this = |sandbox: &&Sandbox| {
            let mut mounts = sandbox.spec.mounts.iter();
            mounts.any(|mount| mount.volume() == Some(&self.spec.name))
        };
        let of_this = listing.sandboxes.iter().filter(of_this);
        let named = of_this.map(|sandbox| sandbox.spec.name.clone());
        let unreadable = listing.unreadable.iter();
        let unreadable = unreadable.map(|sandbox| sandbox.name().to_owned());
        Ok(named.chain(unreadable).collect())
    }

    /// Checks that no other machine excludes the use that the sandbox `starting` wants.
    pub(crate) fn check_free(
        &self,
        home: &Home,
        wanted: &VolumeUse,
        starting: &SandboxId,
    ) -> Result<(), VolumeError> {
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
            // The starting sandbox holds its own lock already.
            sandbox.spec.id != *starting
                && sandbox.spec.mounts.iter().any(is_of)
                && sandbox.state().is_ok_and(State::is_up)
        };
        let sandbox = sandboxes.iter().find(has_it);
        let is_written = sandbox.is_none_or(|sandbox| sandbox.writes_to(&name));
        let sandbox = sandbox.map(|sandbox| sandbox.spec.name.clone());
        Err(VolumeError::InUse {
            name: name.clone(),
            sandbox,
            conflict: match (is_written, wanted.read_only) {
                (true, false) => VolumeConflict::TwoWriters,
                // A reader does not exclude another reader.
                (_, true) => VolumeConflict::WriterBeforeReader,
                (false, false) => VolumeConflict::ReaderBeforeWriter,
            },
        })
    }
}

impl Sandbox {
    /// Returns true if the sandbox mounts the volume with write access.
    fn writes_to(&self, volume: &VolumeName) -> bool {
        let mut mounts = self.spec.mounts.iter();
        mounts.any(|mount| mount.volume() == Some(volume) && !mount.read_only)
    }
}

fn fill(directory: &Path, spec: &VolumeSpec) -> Result<(), VolumeError> {
    let files = VolumeFiles {
        directory: directory.to_owned(),
    };
    disk::write(&files.disk(), spec.size_bytes)?;
    durable_files::create(&files.lock()).map_err(io_error("write", &files.lock()))?;
    let json = serde_json::to_vec_pretty(spec).map_err(io::Error::from);
    json.and_then(|json| durable_files::publish_bytes(&files.spec(), &json))
        .map_err(io_error("write", &files.spec()))
}

pub(super) fn io_error(
    action: &'static str,
    path: &Path,
) -> impl Fn(io::Error) -> VolumeError + use<> {
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
    use crate::Spec;
    use crate::mounts::Source;

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
        let guard = Guard::to_name(&home).expect("free");
        let found = Volume::find_or_create(&home, &guard, &name("data")).expect("found");
        drop(guard);
        assert_eq!(found.spec, made.spec);
        assert_eq!(Volume::all(&home).expect("listed").len(), 1);
        made.remove(&home).expect("removed");
        let gone = Volume::find(&home, &name("data"));
        assert!(matches!(gone, Err(VolumeError::Missing { .. })));
        assert!(Volume::all(&home).expect("listed").is_empty());
    }

    #[test]
    fn one_that_cannot_be_read_does_not_hide_the_others() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        for word in ["a", "b", "c"] {
            Volume::create(&home, name(word), SMALL, BTreeMap::new()).expect("made");
        }
        fs::write(home.volume(&name("b")).spec(), "{").expect("written");
        let all = Volume::all(&home).expect("listed");
        let readable: Vec<bool> = all.iter().map(Result::is_ok).collect();
        assert_eq!(readable, [true, false, true]);
        let gone = all.into_iter().next().expect("a").expect("readable");
        gone.clone().remove(&home).expect("removed");
        let missing = gone.allocated_bytes();
        assert!(matches!(missing, Err(VolumeError::Missing { .. })));
    }

    #[test]
    fn nothing_is_left_of_one_that_was_not_made() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let made = Volume::create(&home, name("data"), 4096, BTreeMap::new());
        assert!(matches!(made, Err(VolumeError::Layout { .. })));
        let left = fs::read_dir(home.volumes()).expect("listed");
        let left: Vec<_> = left
            .map(|entry| entry.expect("listed").file_name())
            .collect();
        assert_eq!(left, [".lock"]);
    }

    #[test]
    fn one_writes_or_many_read() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let volume = Volume::create(&home, name("data"), SMALL, BTreeMap::new()).expect("made");
        let used = |read_only| VolumeUse {
            volume: name("data"),
            read_only,
        };
        let reader = super::super::lock_all(&home, &[used(true)]).expect("held");
        assert!(!in_use(&home, &used(true)).expect("looked"));
        assert!(in_use(&home, &used(false)).expect("looked"));
        let refused = volume.clone().remove(&home);
        assert!(matches!(refused, Err(VolumeError::InUse { .. })));
        drop(reader);
        let writer = super::super::lock_all(&home, &[used(false)]).expect("held");
        assert!(in_use(&home, &used(true)).expect("looked"));
        drop(writer);
        volume.remove(&home).expect("removed");
    }

    #[test]
    fn who_has_a_volume_is_said_and_not_who_wants_it() {
        for (having_reads, wanting_reads, expected) in [
            (
                false,
                false,
                "having: only one sandbox at a time can write to it",
            ),
            (
                false,
                true,
                "having: that sandbox can write to it, and no other sandbox can mount it meanwhile",
            ),
            (
                true,
                false,
                "having: that sandbox reads it, and no other sandbox can write to it meanwhile",
            ),
        ] {
            let root = tempfile::tempdir().expect("a directory");
            let home = Home::new(root.path());
            let volume = Volume::create(&home, name("data"), SMALL, BTreeMap::new()).expect("made");
            let wanting = sandbox(&home, "wanting", 1, wanting_reads);
            let having = sandbox(&home, "having", 2, having_reads);
            let locks = [&wanting, &having].map(|one| one.lock().expect("opened").expect("free"));
            let wanted = &wanting.spec.volumes()[0];
            let look = || volume.check_free(&home, wanted, &wanting.spec.id);
            assert!(look().is_ok());
            let held = super::super::lock_all(&home, &having.spec.volumes()).expect("free");
            let said = look().expect_err("in use").to_string();
            assert!(said.ends_with(&format!("sandbox {expected}")), "{said}");
            drop((locks, held));
        }
    }

    /// Creates a sandbox that mounts the volume `data`.
    fn sandbox(home: &Home, word: &str, created_s: u64, read_only: bool) -> Sandbox {
        let mut spec = Spec::for_tests(word);
        spec.created_s = created_s;
        spec.mounts = vec![Mount {
            target: "/data".parse().expect("a target"),
            read_only,
            source: Source::Volume {
                volume: name("data"),
            },
        }];
        Sandbox::for_tests(home, spec)
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
