use crate::Xattrs;

/// A point in time: seconds since the epoch, and nanoseconds into that second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Seconds since 1970-01-01T00:00:00Z, negative before it.
    pub seconds: i64,
    /// 0 to 999,999,999, always forward in time.
    pub nanoseconds: u32,
}

/// What every kind of inode has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The twelve permission bits: setuid, setgid, sticky, rwx three times. No file type.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last change of the content.
    pub mtime: Timestamp,
    /// Extended attributes.
    pub xattrs: Xattrs,
}

impl Metadata {
    /// Root's, with these permission bits, at the epoch, without xattrs.
    pub fn with_mode(mode: u16) -> Self {
        Self {
            mode,
            ..Self::default()
        }
    }

    /// The same as [`Metadata::with_mode`]; reads better for directories.
    pub fn directory(mode: u16) -> Self {
        Self::with_mode(mode)
    }
}
