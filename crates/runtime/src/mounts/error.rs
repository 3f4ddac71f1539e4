use std::io;
use std::path::PathBuf;

use super::Target;
use crate::volumes::VolumeName;

/// A mount that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// A path of the host cannot be used.
    #[error("cannot mount the host's {}", .path.display())]
    Host {
        /// The path, as the user gave it or as it was recorded.
        path: PathBuf,
        /// The error of the host's filesystem.
        #[source]
        source: io::Error,
    },
    /// The user who runs msb may not read the source, so the guest could not either.
    #[error("cannot mount the host's {}: this user may not read it", .path.display())]
    Unreadable {
        /// The path on the host.
        path: PathBuf,
        /// The error of the attempt to open it.
        #[source]
        source: io::Error,
    },
    /// The source existed when the sandbox was created.
    #[error(
        "the host's {}, which the sandbox has at {target}, is not there any more",
        .path.display()
    )]
    Vanished {
        /// The recorded path on the host.
        path: PathBuf,
        /// The mount's path in the sandbox.
        target: Target,
    },
    /// A symlink leads the recorded path elsewhere; it was recorded without symlinks.
    #[error(
        "the host's {}, which the sandbox has at {target}, is {} by now: a symlink on its path leads there",
        .path.display(), .found.display()
    )]
    Elsewhere {
        /// The recorded path on the host.
        path: PathBuf,
        /// The path without symlinks to which it now leads.
        found: PathBuf,
        /// The mount's path in the sandbox.
        target: Target,
    },
    /// The source is inside `MSB_HOME`, so a guest would see the data of all sandboxes.
    #[error(
        "{} cannot be mounted: it is in MSB_HOME ({}), and a guest would have what msb keeps there of all \
         sandboxes; msb cp copies files out of one",
        .path.display(), .home.display()
    )]
    InHome {
        /// The source of the mount.
        path: PathBuf,
        /// The directory `MSB_HOME`.
        home: PathBuf,
    },
    /// The source contains `MSB_HOME`, so a guest would see the data of all sandboxes.
    #[error(
        "{} cannot be mounted: MSB_HOME ({}) lies in it, and a guest would have what msb keeps there of all \
         sandboxes; mount a directory in it that does not hold MSB_HOME, or set MSB_HOME to one elsewhere",
        .path.display(), .home.display()
    )]
    HoldsHome {
        /// The source of the mount.
        path: PathBuf,
        /// The directory `MSB_HOME`.
        home: PathBuf,
    },
    /// The source is a device, a FIFO or a socket.
    #[error("{} is neither a directory nor a regular file, and nothing else can be mounted", .path.display())]
    Special {
        /// The path on the host.
        path: PathBuf,
    },
    /// The source was a directory and is now a file, or the reverse.
    #[error(
        "the host's {}, which the sandbox has at {target}, is {found} by now",
        .path.display()
    )]
    Changed {
        /// The path on the host.
        path: PathBuf,
        /// The mount's path in the sandbox.
        target: Target,
        /// The current kind: `a directory` or `a file`.
        found: &'static str,
    },
    /// The VMM cannot share a single file.
    #[error(
        "{} is a file, and with {vmm} only directories can be mounted: mount a directory that holds nothing \
         else, copy it with msb cp, or use QEMU (--vmm qemu, MSB_VMM=qemu)",
        .path.display()
    )]
    NoFiles {
        /// The file on the host.
        path: PathBuf,
        /// The VMM's name.
        vmm: &'static str,
    },
    /// The mounts need more devices than the VMM has room for.
    #[error(
        "{mounts} volumes and host directories are too many: with {vmm}{network} a sandbox has at most \
         {limit}{more}; memory (--tmpfs) does not count, and QEMU has room for more (--vmm qemu, MSB_VMM=qemu)"
    )]
    NoPlace {
        /// The number of mounts that need room.
        mounts: usize,
        /// The maximum number of mounts.
        limit: usize,
        /// The VMM's name.
        vmm: &'static str,
        /// The text ` and a network` if the sandbox has a network; otherwise empty.
        network: &'static str,
        /// A phrase with the higher limit without a network; empty if the limit is the same.
        more: String,
    },
    /// The path is not UTF-8, which every VMM requires.
    #[error("the path {} is not UTF-8", .path.display())]
    HostName {
        /// The path on the host.
        path: PathBuf,
    },
    /// Each start needs an empty directory there.
    #[error(
        "only a tmpfs can be mounted at {target}: every start makes directories of its own there"
    )]
    OfMemory {
        /// The mount's path in the sandbox.
        target: Target,
    },
    /// Two mounts have the same target.
    #[error("two mounts at {target}")]
    TargetTwice {
        /// The path in the sandbox that both have.
        target: Target,
    },
    /// Two mounts have the same volume, whose disk a machine can have only once.
    #[error("volume {volume} is mounted twice")]
    VolumeTwice {
        /// The volume's name.
        volume: VolumeName,
    },
    /// The sandbox has more mounts than the limit.
    #[error("{mounts} mounts are too many, the most is {limit}")]
    TooMany {
        /// The number of mounts.
        mounts: usize,
        /// The maximum number of mounts.
        limit: usize,
    },
    /// The description of the mounts is too long for the kernel's command line.
    #[error(
        "the mounts' paths are too long: {length_bytes} bytes together, the limit is {limit_bytes}"
    )]
    TooLong {
        /// The length of the description, in bytes.
        length_bytes: usize,
        /// The maximum length, in bytes.
        limit_bytes: usize,
    },
}
