//! What a sandbox sees at paths of its own choice: host directories, volumes, memory.

mod error;
mod target;
mod word;

pub use error::MountError;
pub use target::Target;

pub(crate) use word::word;

use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use msb_vmm::{Disk, DiskAccess, DiskFormat, Share};
use serde::{Deserialize, Serialize};

use crate::volumes::VolumeName;
use crate::{Home, sandbox::Files};

/// Where each start makes directories of its own.
const OF_MEMORY: &str = "/run";
/// The most mounts of one sandbox.
const MOUNTS_MAX: usize = 64;

/// One mount of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Where the sandbox sees it.
    pub target: Target,
    /// Whether nobody in the sandbox can write to it, root included.
    #[serde(default)]
    pub read_only: bool,
    /// What is seen there.
    #[serde(flatten)]
    pub source: Source,
}

/// What a mount shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Source {
    /// A directory of the host, over virtio-fs.
    Bind {
        /// Which: a path without symlinks.
        directory: PathBuf,
    },
    /// A disk that has a name and outlives the sandbox.
    Volume {
        /// Its name.
        volume: VolumeName,
    },
    /// A disk that has none and goes with the sandbox.
    Anonymous {
        /// Its size. It is sparse.
        size_bytes: u64,
    },
    /// Memory of the guest, empty at each start.
    Tmpfs {
        /// The most that it takes; half of the guest's memory where it is missing.
        #[serde(default)]
        size_bytes: Option<u64>,
        /// The permission bits of its root.
        #[serde(default)]
        mode: Option<u32>,
        /// Whether programs in it can be run.
        #[serde(default)]
        exec: bool,
    },
}

/// Puts mounts in an order in which each can be made: what lies deeper later.
///
/// # Errors
/// A target or a volume that is named twice, too many, a host directory that is none.
pub(crate) fn arrange(mut mounts: Vec<Mount>) -> Result<Vec<Mount>, MountError> {
    if mounts.len() > MOUNTS_MAX {
        return Err(MountError::TooMany {
            mounts: mounts.len(),
            limit: MOUNTS_MAX,
        });
    }
    for (index, mount) in mounts.iter().enumerate() {
        if mount.target.as_str() == OF_MEMORY && !matches!(mount.source, Source::Tmpfs { .. }) {
            return Err(MountError::OfMemory {
                target: mount.target.clone(),
            });
        }
        for other in &mounts[..index] {
            if other.target == mount.target {
                return Err(MountError::TargetTwice {
                    target: mount.target.clone(),
                });
            }
            if let (Some(one), Some(two)) = (other.volume(), mount.volume())
                && one == two
            {
                return Err(MountError::VolumeTwice {
                    volume: one.clone(),
                });
            }
        }
    }
    for mount in &mut mounts {
        if let Source::Bind { directory } = &mut mount.source {
            *directory = host_directory(directory)?;
        }
    }
    mounts.sort_by_key(|mount| mount.target.depth());
    word(&mounts)?;
    Ok(mounts)
}

/// A directory of the host as it is recorded: where it really is.
fn host_directory(path: &Path) -> Result<PathBuf, MountError> {
    let failed = |source| MountError::Host {
        path: path.to_owned(),
        source,
    };
    let directory = fs::canonicalize(path).map_err(failed)?;
    if directory.to_str().is_none() {
        return Err(MountError::HostName { path: directory });
    }
    match fs::metadata(&directory).map_err(failed)?.is_dir() {
        true => Ok(directory),
        false => Err(MountError::NotDirectory { path: directory }),
    }
}

impl Mount {
    /// Whether a guest may write to a directory of the host's by it.
    pub const fn opens_the_host(&self) -> bool {
        matches!(self.source, Source::Bind { .. }) && !self.read_only
    }

    /// The named volume that it shows.
    pub const fn volume(&self) -> Option<&VolumeName> {
        match &self.source {
            Source::Volume { volume } => Some(volume),
            _ => None,
        }
    }

    const fn access(&self) -> DiskAccess {
        match self.read_only {
            true => DiskAccess::ReadOnly,
            false => DiskAccess::ReadWrite,
        }
    }

    /// Checks that the host still has what it shows.
    ///
    /// # Errors
    /// A host directory that is gone, is not one any more, or that a symlink now leads away from.
    pub(crate) fn check(&self) -> Result<(), MountError> {
        let Source::Bind { directory } = &self.source else {
            return Ok(());
        };
        let found = fs::canonicalize(directory).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => MountError::Vanished {
                path: directory.clone(),
                target: self.target.clone(),
            },
            _ => MountError::Host {
                path: directory.clone(),
                source,
            },
        })?;
        if found != *directory {
            return Err(MountError::Elsewhere {
                path: directory.clone(),
                found,
                target: self.target.clone(),
            });
        }
        host_directory(directory).map(|_| ())
    }
}

/// The disk of the mount at `index`, if that is one.
pub(crate) fn disk(home: &Home, files: &Files, index: usize, mount: &Mount) -> Option<Disk> {
    let path = match &mount.source {
        Source::Volume { volume } => home.volume(volume).disk(),
        Source::Anonymous { .. } => files.volume(index),
        Source::Bind { .. } | Source::Tmpfs { .. } => return None,
    };
    Some(Disk {
        path,
        format: DiskFormat::Raw,
        access: mount.access(),
        serial: serial(index),
    })
}

/// The shared directory of the mount at `index`, if that is one.
pub(crate) fn share(index: usize, mount: &Mount) -> Option<Share> {
    let Source::Bind { directory } = &mount.source else {
        return None;
    };
    Some(Share {
        directory: directory.clone(),
        access: mount.access(),
        tag: tag(index),
    })
}

/// What the guest finds a volume's disk by.
fn serial(index: usize) -> String {
    format!("msb-volume-{index}")
}

/// What the guest finds a host directory by.
fn tag(index: usize) -> String {
    format!("msb-share-{index}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(target: &str, source: Source) -> Mount {
        Mount {
            target: target.parse().expect("a target"),
            read_only: false,
            source,
        }
    }

    fn tmpfs(target: &str) -> Mount {
        let source = Source::Tmpfs {
            size_bytes: None,
            mode: None,
            exec: false,
        };
        mount(target, source)
    }

    fn volume(target: &str, name: &str) -> Mount {
        let volume = name.parse().expect("a name");
        mount(target, Source::Volume { volume })
    }

    #[test]
    fn what_lies_deeper_comes_later() {
        let mounts = [tmpfs("/a/b/c"), tmpfs("/z"), volume("/a/b", "v")];
        let arranged = arrange(mounts.into()).expect("good mounts");
        let targets: Vec<_> = arranged.iter().map(|mount| mount.target.as_str()).collect();
        assert_eq!(targets, ["/z", "/a/b", "/a/b/c"]);
    }

    #[test]
    fn nothing_is_named_twice() {
        let twice = arrange(vec![tmpfs("/a"), volume("/a/", "v")]);
        assert!(matches!(twice, Err(MountError::TargetTwice { .. })));
        assert!(arrange(vec![tmpfs("/run")]).is_ok());
        let kept = arrange(vec![volume("/run", "v")]);
        assert!(matches!(kept, Err(MountError::OfMemory { .. })));
        let twice = arrange(vec![volume("/a", "v"), volume("/b", "v")]);
        assert!(matches!(twice, Err(MountError::VolumeTwice { .. })));
    }

    #[test]
    fn host_directories_are_there_and_directories() {
        let root = tempfile::tempdir().expect("a directory");
        let bind = |path: PathBuf| vec![mount("/a", Source::Bind { directory: path })];
        let arranged = arrange(bind(root.path().join("."))).expect("there");
        assert!(arranged[0].check().is_ok());
        let file = root.path().join("file");
        fs::write(&file, "").expect("written");
        let error = arrange(bind(file)).expect_err("a file").to_string();
        assert!(error.contains("is no directory"), "{error}");
        let missing = arrange(bind(root.path().join("missing")));
        assert!(matches!(missing, Err(MountError::Host { .. })));
        let path = root.path().to_owned();
        drop(root);
        let error = arranged[0].check().expect_err("gone").to_string();
        assert!(error.contains(path.to_str().expect("UTF-8")), "{error}");
    }

    #[test]
    fn a_symlink_that_came_later_leads_nowhere() {
        let root = tempfile::tempdir().expect("a directory");
        let root = fs::canonicalize(root.path()).expect("there");
        let path = root.join("shared/own");
        fs::create_dir_all(&path).expect("made");
        fs::create_dir_all(root.join("secret/own")).expect("made");
        let bind = |directory: PathBuf| mount("/a", Source::Bind { directory });
        let given = arrange(vec![bind(path)]).expect("there");
        assert!(given[0].check().is_ok());
        // What another sandbox can do that has the directory above to write.
        fs::rename(root.join("shared"), root.join("moved")).expect("renamed");
        std::os::unix::fs::symlink("secret", root.join("shared")).expect("linked");
        let refused = given[0].check();
        assert!(
            matches!(&refused, Err(MountError::Elsewhere { found, .. }) if found.ends_with("secret/own")),
            "{refused:?}"
        );
    }

    #[test]
    fn mounts_are_kept_as_json() {
        let mounts = vec![volume("/a", "v"), tmpfs("/b")];
        let json = serde_json::to_value(&mounts).expect("written");
        assert_eq!(json[0]["type"], "volume");
        assert_eq!(json[0]["volume"], "v");
        let read: Vec<Mount> = serde_json::from_value(json).expect("read");
        assert_eq!(read, mounts);
    }
}
