use std::io;
use std::path::PathBuf;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};

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
    #[error("cannot mount the host's {}: this user cannot read it", .path.display())]
    Unreadable {
        /// The path on the host.
        path: PathBuf,
        /// The error of the attempt to open it.
        #[source]
        source: io::Error,
    },
    /// The source existed when the sandbox was created.
    #[error(
        "the host's {}, which the sandbox mounts at {target}, no longer exists",
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
        "the host's {}, which the sandbox mounts at {target}, now leads to {} through a symlink on \
         its path",
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
        "cannot mount {}: it is in MSB_HOME ({}), so the guest could read the state of all \
         sandboxes; to copy files out of a sandbox, use msb cp",
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
        "cannot mount {}: it contains MSB_HOME ({}), so the guest could read the state of all \
         sandboxes; mount a directory below it that does not contain MSB_HOME, or set MSB_HOME to \
         a directory elsewhere",
        .path.display(), .home.display()
    )]
    HoldsHome {
        /// The source of the mount.
        path: PathBuf,
        /// The directory `MSB_HOME`.
        home: PathBuf,
    },
    /// Only a directory can be staged.
    #[error("cannot stage {}: it is not a directory; stage the directory that it is in", .path.display())]
    NotStaged {
        /// The path on the host.
        path: PathBuf,
    },
    /// A staged directory lies in another one, on the host or in the sandbox.
    #[error(
        "the directory staged at {target} and the one staged at {other} are the same, or lie in each other; \
         stage only the outer one"
    )]
    StagedTwice {
        /// The target of one of them.
        target: Target,
        /// The target of the other one.
        other: Target,
    },
    /// The sandbox was made of an exported snapshot, and the directory is where that was taken.
    #[error(
        "the directory staged at {target} is on the host where the sandbox's snapshot was exported"
    )]
    StagedElsewhere {
        /// The mount's path in the sandbox.
        target: Target,
    },
    /// The root is a disk image, which has no place for the changes of staged directories.
    #[error("cannot stage a directory in a sandbox with --root-disk: create one with an image")]
    StagedRoot,
    /// The disk of a new sandbox is that of another one, which has staged directories or none.
    #[error(
        "cannot stage a directory in a sandbox that begins with the disk of another one: stage it when that \
         one is created, and its forks have it, too"
    )]
    StagedFork,
    /// There are too many rules for a directory.
    #[error(transparent)]
    Rules(#[from] path_rules::TooManyRules),
    /// The source is a device, a FIFO or a socket.
    #[error("cannot mount {}: it is neither a directory nor a regular file", .path.display())]
    Special {
        /// The path on the host.
        path: PathBuf,
    },
    /// The source was a directory and is now a file, or the reverse.
    #[error(
        "the host's {}, which the sandbox mounts at {target}, is now {found}",
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
        "cannot mount {}: it is a file, and {vmm} can mount only directories; mount a directory \
         that contains nothing else, copy the file with msb cp, or use QEMU (--vmm qemu, \
         MSB_VMM=qemu)",
        .path.display()
    )]
    NoFiles {
        /// The file on the host.
        path: PathBuf,
        /// The VMM's name.
        vmm: &'static str,
    },
    /// The VMM serves shared directories by itself, without rules.
    #[error(
        "cannot mount {} with rules: {vmm} shares the whole directory; stage it (DIR:PATH:staged), or use QEMU \
         (--vmm qemu, MSB_VMM=qemu)",
        .path.display()
    )]
    NoRules {
        /// The directory on the host.
        path: PathBuf,
        /// The VMM's name.
        vmm: &'static str,
    },
    /// The mounts need more devices than the VMM has room for.
    #[error(
        "{mounts} volumes and host directories are too many: with {vmm}{network} the limit is \
         {limit}{more}; --tmpfs mounts do not count, and the limit of QEMU is higher (--vmm qemu, \
         MSB_VMM=qemu)"
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
    /// Each start makes `/run/msb` there.
    #[error("only a tmpfs can be mounted at {target}: every start creates directories there")]
    OfMemory {
        /// The mount's path in the sandbox.
        target: Target,
    },
    /// Two mounts have the same target.
    #[error("{target} has two mounts; leave one of them out")]
    TargetTwice {
        /// The path in the sandbox that both have.
        target: Target,
    },
    /// Two mounts have the same volume, whose disk a machine can have only once.
    #[error("volume {volume} is mounted twice; leave one of the mounts out")]
    VolumeTwice {
        /// The volume's name.
        volume: VolumeName,
    },
    /// The sandbox has more mounts than the limit.
    #[error("{mounts} mounts are too many, the limit is {limit}")]
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

impl Diagnose for MountError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Host { path, source } if source.kind() == io::ErrorKind::NotFound => {
                Diagnosis::new(ErrorKind::PathNotFound).detail("path", path)
            }
            Self::Vanished { path, .. } => {
                Diagnosis::new(ErrorKind::PathNotFound).detail("path", path)
            }
            Self::StagedElsewhere { target } => Diagnosis::new(ErrorKind::InvalidArgument)
                .hint(format!(
                    "copy files into the sandbox with msb cp, and put its changes into a directory of this \
                     host with msb apply --from {target} NAME DIR"
                )),
            Self::Unreadable { path, .. } => {
                Diagnosis::new(ErrorKind::PermissionDenied).detail("path", path)
            }
            Self::Host { .. }
            | Self::Elsewhere { .. }
            | Self::InHome { .. }
            | Self::HoldsHome { .. }
            | Self::Special { .. }
            | Self::NotStaged { .. }
            | Self::StagedTwice { .. }
            | Self::StagedRoot
            | Self::StagedFork
            | Self::Changed { .. }
            | Self::NoFiles { .. }
            | Self::NoRules { .. }
            | Self::NoPlace { .. }
            | Self::HostName { .. }
            | Self::OfMemory { .. }
            | Self::TargetTwice { .. }
            | Self::VolumeTwice { .. }
            | Self::TooMany { .. }
            | Self::TooLong { .. } => Diagnosis::new(ErrorKind::InvalidArgument),
            Self::Rules(source) => source.diagnosis(),
        }
    }
}
