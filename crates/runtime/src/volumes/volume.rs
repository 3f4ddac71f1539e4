use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::{Guard, Use, VolumeError, VolumeFiles, VolumeName, disk, in_use};
use crate::mounts::Mount;
use crate::sandbox::{SandboxId, now_s};
use crate::{Home, Sandbox, State, allocated_bytes, durable};

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
    pub(super) files: VolumeFiles,
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
        let guard = Guard::to_name(home).map_err(io_error("lock", &volumes))?;
        Self::make(home, &guard, name, size_bytes, labels)
    }

    /// While the guard is held, nobody takes what is unfinished for remains.
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

    /// All volumes, by name; for one that cannot be read, why.
    ///
    /// # Errors
    /// When their directory cannot be read.
    pub fn all(home: &Home) -> Result<Vec<Result<Self, VolumeError>>, VolumeError> {
        let failed = || io_error("list", &home.volumes());
        let entries = match fs::read_dir(home.volumes()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed())?,
        };
        let mut names: Vec<VolumeName> = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed())?.file_name();
            // What is unfinished has no such name.
            names.extend(name.to_str().and_then(|name| name.parse().ok()));
        }
        names.sort();
        let found = names.iter().map(|name| Self::find(home, name));
        Ok(found
            .filter(|found| !matches!(found, Err(VolumeError::Missing { .. })))
            .collect())
    }

    /// Where its files are.
    pub fn directory(&self) -> &Path {
        &self.files.directory
    }

    /// What its disk takes on the host's: what was written, not its size.
    ///
    /// # Errors
    /// When it was removed meanwhile, or its disk cannot be looked at.
    pub fn allocated_bytes(&self) -> Result<u64, VolumeError> {
        let disk = self.files.disk();
        match fs::metadata(&disk) {
            Ok(metadata) => Ok(allocated_bytes(&metadata)),
            Err(_) if !self.files.directory.exists() => Err(VolumeError::Missing {
                name: self.spec.name.clone(),
            }),
            Err(error) => Err(io_error("look at", &disk)(error)),
        }
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

    /// Looks whether no machine has it in a way that keeps that of the sandbox `starting` from it.
    pub(crate) fn check_free(
        &self,
        home: &Home,
        wanted: &Use,
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
            // The one that starts holds its own lock by now.
            sandbox.spec.id != *starting
                && sandbox.spec.mounts.iter().any(is_of)
                && matches!(sandbox.state(), Ok(State::Running))
        };
        let sandbox = sandboxes.iter().find(has_it);
        let sandbox = sandbox.map_or("that is ending", |sandbox| sandbox.spec.name.as_str());
        Err(VolumeError::InUse {
            name: name.clone(),
            sandbox: sandbox.to_owned(),
        })
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
    fn who_has_a_volume_is_said_and_not_who_wants_it() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let volume = Volume::create(&home, name("data"), SMALL, BTreeMap::new()).expect("made");
        let sandbox = |word: &str, created_s| {
            let mut spec = Spec::of_tests(word);
            spec.created_s = created_s;
            spec.mounts = vec![Mount {
                target: "/data".parse().expect("a target"),
                read_only: false,
                source: Source::Volume {
                    volume: name("data"),
                },
            }];
            Sandbox::of_tests(&home, spec)
        };
        let (wanting, having) = (sandbox("wanting", 1), sandbox("having", 2));
        let locks = [&wanting, &having].map(|one| one.lock().expect("opened").expect("free"));
        let wanted = &wanting.spec.volumes()[0];
        let look = || volume.check_free(&home, wanted, &wanting.spec.id);
        assert!(look().is_ok());
        let held = super::super::hold(&home, &having.spec.volumes()).expect("free");
        match look() {
            Err(VolumeError::InUse { sandbox, .. }) => assert_eq!(sandbox, "having"),
            other => panic!("{other:?}"),
        }
        drop((locks, held));
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
