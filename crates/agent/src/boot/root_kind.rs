//! The kinds of root filesystems.

/// Set if the upper disk is the root filesystem itself, of this type.
const FILESYSTEM_VARIABLE: &str = "msb_root_filesystem";
/// Set if the root is a directory of the upper disk that has all of the sandbox's files.
const NATIVE_VARIABLE: &str = "msb_native_root";

/// The kind of a root filesystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RootKind {
    /// An overlay of the image and the directory `upper` of the upper disk.
    Overlay,
    /// The directory `upper` of the upper disk; there is no image.
    Native,
    /// The upper disk itself, with a filesystem of this type; there is no image.
    Disk(String),
}

impl RootKind {
    /// Returns the kind that the host asks for.
    pub(super) fn from_host() -> Self {
        match std::env::var(FILESYSTEM_VARIABLE) {
            Ok(filesystem) => Self::Disk(filesystem),
            Err(_) if std::env::var_os(NATIVE_VARIABLE).is_some() => Self::Native,
            Err(_) => Self::Overlay,
        }
    }
}
