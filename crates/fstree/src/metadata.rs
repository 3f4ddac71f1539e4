use crate::Xattrs;

/// A point in time: seconds since the epoch, and nanoseconds within that second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Seconds since 1970-01-01T00:00:00Z, negative before it.
    pub seconds: i64,
    /// Nanoseconds after the second, 0 to 999,999,999, also before the epoch.
    pub nanoseconds: u32,
}

/// The attributes that every kind of inode has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The twelve permission bits: setuid, setgid, sticky, and three times rwx. The type is not
    /// included.
    pub mode: u16,
    /// The owner's numeric user ID.
    pub uid: u32,
    /// The numeric group ID.
    pub gid: u32,
    /// Time of the content's last change.
    pub mtime: Timestamp,
    /// The extended attributes, by full name.
    pub xattrs: Xattrs,
}

impl Metadata {
    /// Returns metadata with these permission bits, owned by root, at the epoch and without xattrs.
    #[must_use]
    pub fn with_mode(mode: u16) -> Self {
        Self {
            mode,
            ..Self::default()
        }
    }

    /// Returns the same as [`Metadata::with_mode`], under a name that reads better for directories.
    #[must_use]
    pub fn directory(mode: u16) -> Self {
        Self::with_mode(mode)
    }
}
