use std::time::Duration;

use rustix::fs::Stat;

/// The attributes of a file of the host that change with its content, its metadata, and the file itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    mode: u32,
    owner: (u32, u32),
    pub(crate) links: u64,
    pub(crate) size_bytes: u64,
    pub(crate) modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn new(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            mode: stat.st_mode,
            owner: (stat.st_uid, stat.st_gid),
            links: number(stat.st_nlink),
            size_bytes: number(stat.st_size),
            modified: (stat.st_mtime, nanoseconds(stat.st_mtime_nsec)),
            changed: (stat.st_ctime, nanoseconds(stat.st_ctime_nsec)),
        }
    }

    /// Returns the identity of the file, which all its names share.
    pub(crate) const fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// Returns the time until a further change would show in another stamp; `None` if it would now.
    pub(crate) fn time_to_rest(&self) -> Option<Duration> {
        durable_files::time_to_rest(self.changed.0, self.changed.1)
    }

    /// Returns true if the file changed later than another one, or if there is no other.
    pub(crate) fn is_newer_than(&self, other: Option<&Self>) -> bool {
        other.is_none_or(|other| self.changed > other.changed)
    }

    /// Adds the identity of the file to a digest.
    pub(crate) fn add_identity_to(&self, digest: &mut blake3::Hasher) {
        digest.update(&self.device.to_le_bytes());
        digest.update(&self.inode.to_le_bytes());
    }

    /// Adds the stamp to a digest.
    pub(crate) fn add_to(&self, digest: &mut blake3::Hasher) {
        for number in [self.device, self.inode, self.links, self.size_bytes] {
            digest.update(&number.to_le_bytes());
        }
        for number in [self.mode, self.owner.0, self.owner.1] {
            digest.update(&number.to_le_bytes());
        }
        for number in [
            self.modified.0,
            self.modified.1,
            self.changed.0,
            self.changed.1,
        ] {
            digest.update(&number.to_le_bytes());
        }
    }
}

/// Returns a number whose type differs between processors.
fn number(value: impl TryInto<u64>) -> u64 {
    value.try_into().unwrap_or_default()
}

fn nanoseconds(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(0)
}
