use fstree::Metadata;
use rustix::fs::Stat;

/// The permission bits that are applied to files of the host without their owners.
const MODE_MASK: u16 = 0o1777;

/// The attributes of a file that are compared: those that are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attributes {
    pub(super) mode: u16,
    /// User and group ID, if owners are applied.
    pub(super) owner: Option<(u32, u32)>,
}

impl Attributes {
    pub(super) fn of_sandbox(metadata: &Metadata, keep_owner: bool) -> Self {
        Self::new(metadata.mode, (metadata.uid, metadata.gid), keep_owner)
    }

    pub(super) fn of_host(stat: &Stat, keep_owner: bool) -> Self {
        let mode = u16::try_from(stat.st_mode & 0o7777).unwrap_or(0);
        Self::new(mode, (stat.st_uid, stat.st_gid), keep_owner)
    }

    fn new(mode: u16, owner: (u32, u32), keep_owner: bool) -> Self {
        Self {
            mode: if keep_owner { mode } else { mode & MODE_MASK },
            owner: keep_owner.then_some(owner),
        }
    }
}
