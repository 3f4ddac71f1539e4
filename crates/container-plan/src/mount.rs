use prost::{Enumeration, Message, Oneof};

/// The flags of mount(2) that a [`Mount`] can have, with the numbers of `include/uapi/linux/mount.h`.
pub mod flags {
    /// `MS_RDONLY`: the mount cannot be written to.
    pub const READ_ONLY: u32 = 1;
    /// `MS_NOSUID`: no effect of set-user-ID bits and file capabilities.
    pub const NO_SUID: u32 = 2;
    /// `MS_NODEV`: no access to device nodes.
    pub const NO_DEV: u32 = 4;
    /// `MS_NOEXEC`: no execution of programs.
    pub const NO_EXEC: u32 = 8;
    /// `MS_SYNCHRONOUS`: writes are synced at once.
    pub const SYNCHRONOUS: u32 = 16;
    /// `MS_DIRSYNC`: changes of directories are synced at once.
    pub const DIR_SYNC: u32 = 128;
    /// `MS_NOSYMFOLLOW`: no symlink is followed.
    pub const NO_SYMFOLLOW: u32 = 256;
    /// `MS_NOATIME`: access times are not kept.
    pub const NO_ATIME: u32 = 1024;
    /// `MS_NODIRATIME`: access times of directories are not kept.
    pub const NO_DIR_ATIME: u32 = 2048;
    /// `MS_RELATIME`: access times are kept if they are older than the changes.
    pub const REL_ATIME: u32 = 1 << 21;
    /// `MS_STRICTATIME`: access times are always kept.
    pub const STRICT_ATIME: u32 = 1 << 24;
    /// `MS_LAZYTIME`: times are written late.
    pub const LAZY_TIME: u32 = 1 << 25;
}

/// All flags that a [`Mount`] can have.
pub const MOUNT_FLAGS: u32 = flags::READ_ONLY
    | flags::NO_SUID
    | flags::NO_DEV
    | flags::NO_EXEC
    | flags::SYNCHRONOUS
    | flags::DIR_SYNC
    | flags::NO_SYMFOLLOW
    | flags::NO_ATIME
    | flags::NO_DIR_ATIME
    | flags::REL_ATIME
    | flags::STRICT_ATIME
    | flags::LAZY_TIME;

/// A mount in a container's mount namespace.
///
/// Its destination is resolved below the container's root, symlinks included, and is made if it does not exist: as a
/// file if the source is one, otherwise as a directory.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Mount {
    /// The absolute path of the destination.
    #[prost(string, tag = "1")]
    pub destination: String,
    /// The source. A valid plan has one.
    #[prost(oneof = "MountSource", tags = "2, 3, 4, 5")]
    pub source: Option<MountSource>,
    /// The [`flags`] of mount(2). Those of a bind are set by a second call, which remounts it.
    #[prost(uint32, tag = "6")]
    pub flags: u32,
    /// The [`flags`] that are set for the mount and for all mounts below it, by mount_setattr(2).
    #[prost(uint32, tag = "7")]
    pub recursive_flags: u32,
    /// True if the mounts below the source of a bind are bound, too.
    #[prost(bool, tag = "8")]
    pub is_recursive: bool,
    /// The data of mount(2), such as `mode=1777,size=65536k`; empty for a bind.
    #[prost(string, tag = "9")]
    pub data: String,
    /// The propagation, set after the mount.
    #[prost(enumeration = "Propagation", tag = "10")]
    pub propagation: i32,
    /// True if the files of the destination are copied into the new filesystem; only for a tmpfs.
    #[prost(bool, tag = "11")]
    pub copies_up: bool,
}

/// The source of a [`Mount`].
#[derive(Clone, PartialEq, Eq, Hash, Oneof)]
pub enum MountSource {
    /// A new filesystem of the kernel, a [`Filesystem`].
    #[prost(enumeration = "Filesystem", tag = "2")]
    Filesystem(i32),
    /// A bind of an entry of the pod's share: a file or directory of the host, by its name in the share's root.
    #[prost(string, tag = "3")]
    Share(String),
    /// A bind of a disk's filesystem, by the name under which an earlier call mounted it.
    #[prost(string, tag = "4")]
    Disk(String),
    /// A bind of a tmpfs that the containers of the pod share.
    #[prost(message, tag = "5")]
    PodMemory(PodMemory),
}

/// A tmpfs that the containers of a pod share. The first container that mounts it makes it.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct PodMemory {
    /// The name in the pod, such as `shm`.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The size, in bytes; 0 for the kernel's default, half of the memory.
    #[prost(uint64, tag = "2")]
    pub size_bytes: u64,
    /// The mode of its root.
    #[prost(uint32, tag = "3")]
    pub mode: u32,
    /// The path of the bound directory below its root, without a leading slash; empty for the root.
    #[prost(string, tag = "4")]
    pub path: String,
}

/// A kind of filesystem that the kernel makes for a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum Filesystem {
    /// No filesystem; not valid in a plan.
    Unspecified = 0,
    /// `proc`, of the container's PID namespace.
    Proc = 1,
    /// `sysfs`, of the guest's network namespace.
    Sysfs = 2,
    /// `devpts`, an instance of the mount's own.
    Devpts = 3,
    /// `tmpfs`, of the container's memory limit.
    Tmpfs = 4,
    /// `mqueue`, of the container's IPC namespace.
    Mqueue = 5,
    /// `cgroup2`, of the container's cgroup namespace.
    Cgroup2 = 6,
}

/// The propagation of a mount (mount_namespaces(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum Propagation {
    /// The default: recursively private.
    Unspecified = 0,
    /// `private`: nothing is propagated to or from the mount.
    Private = 1,
    /// `rprivate`: private, with all mounts below.
    RecursivePrivate = 2,
    /// `slave`: mounts are propagated to the mount only.
    Slave = 3,
    /// `rslave`: slave, with all mounts below.
    RecursiveSlave = 4,
    /// `unbindable`: private, and no source of a bind.
    Unbindable = 5,
    /// `runbindable`: unbindable, with all mounts below.
    RecursiveUnbindable = 6,
}

impl Mount {
    /// Returns a mount of a new filesystem, without flags and data.
    #[must_use]
    pub fn of_filesystem(kind: Filesystem, destination: &str) -> Self {
        Self {
            destination: destination.to_owned(),
            source: Some(MountSource::Filesystem(kind.into())),
            ..Self::default()
        }
    }

    /// Returns the kind of the new filesystem; `None` for a bind, and for a kind that is unknown.
    #[must_use]
    pub fn filesystem(&self) -> Option<Filesystem> {
        match &self.source {
            Some(MountSource::Filesystem(kind)) => Filesystem::try_from(*kind).ok(),
            _ => None,
        }
    }
}

impl Filesystem {
    /// Returns the kernel's name of the filesystem.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "none",
            Self::Proc => "proc",
            Self::Sysfs => "sysfs",
            Self::Devpts => "devpts",
            Self::Tmpfs => "tmpfs",
            Self::Mqueue => "mqueue",
            Self::Cgroup2 => "cgroup2",
        }
    }
}
