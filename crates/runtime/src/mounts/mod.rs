//! Mounts of a sandbox: host directories and files, volumes, and memory, at paths of its choice.

mod error;
mod home;
mod host;
mod layout;
mod room;
mod staged;
mod target;
mod word;

pub use error::MountError;
pub use room::Room;
pub use staged::{Staged, staged, targets as staged_targets};
pub use target::Target;

pub(crate) use home::keep_home_out;
pub(crate) use layout::Layout;

use std::path::PathBuf;

use msb_vmm::DiskAccess;
use path_rules::Rule;
use room::StartOptions;
use serde::{Deserialize, Serialize};

use crate::Home;
use crate::volumes::VolumeName;

/// The directory in which each start makes `/run/msb`, so only memory can be mounted there: a volume or
/// a directory of the host would keep it.
const OF_MEMORY: &str = "/run";
/// Maximum number of mounts of one sandbox.
const MOUNTS_MAX: usize = 64;

/// One mount of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// The mount's path in the sandbox.
    pub target: Target,
    /// True if the guest can only read the mount, even as root.
    #[serde(default)]
    pub read_only: bool,
    /// The content of the mount.
    #[serde(flatten)]
    pub source: Source,
}

/// The source of a mount's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Source {
    /// A directory of the host, over virtio-fs.
    Bind {
        /// The directory's path, without symlinks once it is recorded.
        directory: PathBuf,
        /// The rules of its files; their paths are relative to the directory.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rules: Vec<Rule>,
    },
    /// A directory of the host as it was when the sandbox was created, on a disk: nothing is written to the
    /// host before the changes are applied.
    Staged(Staged),
    /// A single file of the host, over virtio-fs.
    BindFile {
        /// The file's path, without symlinks.
        file: PathBuf,
    },
    /// A disk that has a name and outlives the sandbox.
    Volume {
        /// The volume's name.
        volume: VolumeName,
    },
    /// A disk without a name, which is removed with the sandbox.
    Anonymous {
        /// Size of the disk, in bytes. The disk is sparse.
        size_bytes: u64,
    },
    /// Memory of the guest, empty at each start.
    Tmpfs {
        /// Maximum size, in bytes; half of the guest's memory if `None`.
        #[serde(default)]
        size_bytes: Option<u64>,
        /// The permission bits of the root directory.
        #[serde(default)]
        mode: Option<u32>,
        /// True if programs can be run from it.
        #[serde(default)]
        exec: bool,
    },
}

/// Checks mounts, and sorts them so that each can be made: deeper targets come later.
/// A [`Source::Bind`] that names a file becomes a [`Source::BindFile`].
///
/// # Errors
/// A target or a volume that is named twice, a path of the host that cannot be mounted, and more
/// mounts than the limit or the known room.
pub(crate) fn arrange(
    home: &Home,
    mut mounts: Vec<Mount>,
    room: Option<&Room>,
) -> Result<Vec<Mount>, MountError> {
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
            other.goes_with(mount)?;
        }
    }
    for mount in &mut mounts {
        match &mut mount.source {
            Source::Bind { directory, rules } => {
                let rules = std::mem::take(rules);
                mount.source = host::recorded(directory, rules)?;
            }
            Source::Staged(Staged {
                directory: Some(directory),
                ..
            }) => *directory = staged::recorded(directory)?,
            _ => {}
        }
    }
    keep_home_out(home, &mounts)?;
    staged::check_apart(&mounts)?;
    mounts.sort_by_key(|mount| mount.target.depth());
    // Another VMM may start the sandbox. The description is longest with a device for each mount.
    let mut numbers = 0..;
    let places: Vec<StartOptions> = mounts
        .iter()
        .map(|mount| match mount.source {
            Source::Staged(_) => StartOptions::Staged(numbers.next().unwrap_or_default()),
            _ => StartOptions::Device,
        })
        .collect();
    word::word(&mounts, &places)?;
    if let Some(room) = room {
        room.places(&mounts)?;
    }
    Ok(mounts)
}

/// Checks mounts as [`Sandbox::create`](crate::Sandbox::create) does, without creating anything.
///
/// # Errors
/// The errors of [`Sandbox::create`](crate::Sandbox::create) that concern mounts.
pub fn check_mounts(
    home: &Home,
    mounts: Vec<Mount>,
    room: Option<&Room>,
) -> Result<(), MountError> {
    arrange(home, mounts, room).map(drop)
}

impl Mount {
    /// Returns true if a guest can write to files of the host through the mount.
    pub const fn opens_the_host(&self) -> bool {
        matches!(self.source, Source::Bind { .. } | Source::BindFile { .. }) && !self.read_only
    }

    /// Returns the named volume of the mount; `None` for all other sources.
    pub const fn volume(&self) -> Option<&VolumeName> {
        match &self.source {
            Source::Volume { volume } => Some(volume),
            _ => None,
        }
    }

    const fn access(&self) -> DiskAccess {
        if self.read_only {
            DiskAccess::ReadOnly
        } else {
            DiskAccess::ReadWrite
        }
    }

    /// Checks that two mounts have different targets and different volumes.
    fn goes_with(&self, other: &Self) -> Result<(), MountError> {
        if self.target == other.target {
            return Err(MountError::TargetTwice {
                target: other.target.clone(),
            });
        }
        match (self.volume(), other.volume()) {
            (Some(one), Some(two)) if one == two => Err(MountError::VolumeTwice {
                volume: one.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Checks that the host still has the source of the mount.
    ///
    /// # Errors
    /// A source that is gone, cannot be read, is another kind of file, or is now behind a symlink.
    pub(crate) fn check(&self) -> Result<(), MountError> {
        match &self.source {
            Source::Bind { directory, .. } => host::check(directory, true, &self.target),
            Source::BindFile { file } => host::check(file, false, &self.target),
            // The files of a staged directory are on a disk.
            Source::Staged(_)
            | Source::Volume { .. }
            | Source::Anonymous { .. }
            | Source::Tmpfs { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
