use std::fmt;

/// The kinds of errors, in one tree: see [`parent`](Self::parent).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument cannot be used.
    InvalidArgument,
    /// The named object does not exist.
    NotFound,
    /// No sandbox has this name or id.
    SandboxNotFound,
    /// No image has this name or digest.
    ImageNotFound,
    /// No volume has this name.
    VolumeNotFound,
    /// A path does not exist, in a sandbox or on the host.
    PathNotFound,
    /// The sandbox has no job with this number.
    JobNotFound,
    /// The object exists already.
    AlreadyExists,
    /// Another sandbox or volume has this name.
    NameTaken,
    /// The path exists already.
    PathExists,
    /// The object is in use.
    Busy,
    /// The sandbox is running, and must be stopped first.
    SandboxRunning,
    /// The processes of the sandbox are paused.
    SandboxPaused,
    /// A sandbox uses the volume.
    VolumeInUse,
    /// A sandbox uses the image.
    ImageInUse,
    /// A port of the host is in use.
    PortInUse,
    /// The sandbox, or the command in it, does not run.
    NotRunning,
    /// The processes of the sandbox are not paused.
    NotPaused,
    /// The host or the guest denies access.
    PermissionDenied,
    /// A disk is full.
    OutOfSpace,
    /// An image cannot be brought into the store.
    PullError,
    /// A registry failed.
    RegistryError,
    /// A registry denies access.
    Unauthorized,
    /// A sandbox cannot be started.
    StartError,
    /// There is no usable guest kernel.
    KernelMissing,
    /// No virtual machine monitor can run on this host, or the program msb is missing.
    VmmMissing,
    /// The guest did not answer in time.
    BootTimeout,
    /// The virtual machine ended while it was starting.
    MachineFailed,
    /// The sandbox ended during the operation.
    SandboxEnded,
    /// A command failed.
    CommandError,
    /// The command ended with another exit code than 0.
    CommandFailed,
    /// The command does not exist.
    CommandNotFound,
    /// The command cannot be executed.
    NotExecutable,
    /// The command took too long, and was killed.
    CommandTimeout,
    /// The command printed more than its limit, and was killed.
    OutputLimit,
    /// The program msb, or the guest's agent, is of another version.
    VersionMismatch,
    /// The object belongs to the process that this one was forked from.
    ForkedError,
    /// The operation is not supported.
    Unsupported,
    /// msb itself failed.
    InternalError,
}

impl ErrorKind {
    /// All kinds, parents before their children.
    pub const ALL: [Self; 39] = [
        Self::InvalidArgument,
        Self::NotFound,
        Self::SandboxNotFound,
        Self::ImageNotFound,
        Self::VolumeNotFound,
        Self::PathNotFound,
        Self::JobNotFound,
        Self::AlreadyExists,
        Self::NameTaken,
        Self::PathExists,
        Self::Busy,
        Self::SandboxRunning,
        Self::SandboxPaused,
        Self::VolumeInUse,
        Self::ImageInUse,
        Self::PortInUse,
        Self::NotRunning,
        Self::NotPaused,
        Self::PermissionDenied,
        Self::OutOfSpace,
        Self::PullError,
        Self::RegistryError,
        Self::Unauthorized,
        Self::StartError,
        Self::KernelMissing,
        Self::VmmMissing,
        Self::BootTimeout,
        Self::MachineFailed,
        Self::SandboxEnded,
        Self::CommandError,
        Self::CommandFailed,
        Self::CommandNotFound,
        Self::NotExecutable,
        Self::CommandTimeout,
        Self::OutputLimit,
        Self::VersionMismatch,
        Self::ForkedError,
        Self::Unsupported,
        Self::InternalError,
    ];

    /// Returns the more general kind; `None` for a kind at the top of the tree.
    pub const fn parent(self) -> Option<Self> {
        Some(match self {
            Self::SandboxNotFound
            | Self::ImageNotFound
            | Self::VolumeNotFound
            | Self::PathNotFound
            | Self::JobNotFound => Self::NotFound,
            Self::NameTaken | Self::PathExists => Self::AlreadyExists,
            Self::SandboxRunning
            | Self::SandboxPaused
            | Self::VolumeInUse
            | Self::ImageInUse
            | Self::PortInUse => Self::Busy,
            Self::RegistryError | Self::Unauthorized => Self::PullError,
            Self::KernelMissing | Self::VmmMissing | Self::BootTimeout | Self::MachineFailed => {
                Self::StartError
            }
            Self::CommandFailed
            | Self::CommandNotFound
            | Self::NotExecutable
            | Self::CommandTimeout
            | Self::OutputLimit => Self::CommandError,
            _ => return None,
        })
    }

    /// Returns true if this kind is `other`, or one of its children.
    pub fn is(self, other: Self) -> bool {
        self == other || self.parent() == Some(other)
    }

    /// Returns the name of the kind, as in the source: `SandboxNotFound`.
    pub fn name(self) -> String {
        format!("{self:?}")
    }

    /// Returns the stable code of the kind: `sandbox-not-found`.
    pub fn code(self) -> String {
        let mut code = String::new();
        for character in self.name().chars() {
            if character.is_ascii_uppercase() && !code.is_empty() {
                code.push('-');
            }
            code.push(character.to_ascii_lowercase());
        }
        code
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_kebab_case_and_unique() {
        assert_eq!(ErrorKind::SandboxNotFound.code(), "sandbox-not-found");
        assert_eq!(ErrorKind::InternalError.code(), "internal-error");
        let mut codes: Vec<_> = ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
        codes.sort();
        codes.dedup();
        assert_eq!(codes.len(), ErrorKind::ALL.len());
    }

    #[test]
    fn a_child_is_of_its_parents_kind() {
        assert!(ErrorKind::PathNotFound.is(ErrorKind::NotFound));
        assert!(ErrorKind::NotFound.is(ErrorKind::NotFound));
        assert!(!ErrorKind::NotFound.is(ErrorKind::PathNotFound));
        assert!(!ErrorKind::Busy.is(ErrorKind::NotFound));
    }
}
