use std::io;
use std::path::PathBuf;

use super::Target;
use crate::volumes::VolumeName;

/// Why something cannot be mounted.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The host's directory cannot be used.
    #[error("cannot mount the host's {}", .path.display())]
    Host {
        /// As the user gave it.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It was there when the sandbox was created.
    #[error(
        "the host directory {}, which the sandbox has at {target}, is not there any more",
        .path.display()
    )]
    Vanished {
        /// The directory.
        path: PathBuf,
        /// Where the sandbox has it.
        target: Target,
    },
    /// It was recorded without symlinks, and one is on the way to it now.
    #[error(
        "the host directory {}, which the sandbox has at {target}, is {} by now: a symlink on its path leads \
         there",
        .path.display(), .found.display()
    )]
    Elsewhere {
        /// The directory.
        path: PathBuf,
        /// Where its path leads.
        found: PathBuf,
        /// Where the sandbox has it.
        target: Target,
    },
    /// Files cannot be shared alone.
    #[error(
        "{} is no directory, and only directories can be mounted: to share a file, mount a directory \
         that holds nothing else, or copy it with msb cp",
        .path.display()
    )]
    NotDirectory {
        /// The file.
        path: PathBuf,
    },
    /// Its name has bytes that no VMM takes.
    #[error("the path {} is not UTF-8", .path.display())]
    HostName {
        /// The directory.
        path: PathBuf,
    },
    /// Every start needs it empty.
    #[error(
        "only a tmpfs can be mounted at {target}: every start makes directories of its own there"
    )]
    OfMemory {
        /// Where.
        target: Target,
    },
    /// Two mounts at one place.
    #[error("two mounts at {target}")]
    TargetTwice {
        /// Where.
        target: Target,
    },
    /// One disk cannot be two.
    #[error("volume {volume} is mounted twice")]
    VolumeTwice {
        /// Which.
        volume: VolumeName,
    },
    /// More than a sandbox may have.
    #[error("{mounts} mounts are too many, the most is {limit}")]
    TooMany {
        /// How many.
        mounts: usize,
        /// How many there may be.
        limit: usize,
    },
    /// They are told to the guest in one word.
    #[error(
        "the mounts' paths are too long: {length_bytes} bytes together, the limit is {limit_bytes}"
    )]
    TooLong {
        /// How long they are.
        length_bytes: usize,
        /// How long they may be.
        limit_bytes: usize,
    },
}
