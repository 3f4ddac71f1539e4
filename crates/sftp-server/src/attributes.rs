use rustix::fs::Stat;

use crate::fields::{Fields, Packet, ParseError};

/// The bits that say which attributes follow.
const SIZE: u32 = 1;
const OWNER: u32 = 2;
const PERMISSIONS: u32 = 4;
const TIMES: u32 = 8;
const EXTENDED: u32 = 1 << 31;

/// The attributes of a file. Those that are `None` are unknown, or stay unchanged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Size of the file, in bytes.
    pub size_bytes: Option<u64>,
    /// Numbers of the user and the group.
    pub owner: Option<(u32, u32)>,
    /// Type and permission bits, as in `st_mode`.
    pub mode: Option<u32>,
    /// Times of the last access and the last modification, in seconds since the epoch.
    pub times_s: Option<(u32, u32)>,
}

impl Attributes {
    pub(crate) fn parse(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        let flags = fields.number()?;
        let has = |flag| flags & flag != 0;
        let mut attributes = Self::default();
        if has(SIZE) {
            attributes.size_bytes = Some(fields.long()?);
        }
        if has(OWNER) {
            attributes.owner = Some((fields.number()?, fields.number()?));
        }
        if has(PERMISSIONS) {
            attributes.mode = Some(fields.number()?);
        }
        if has(TIMES) {
            attributes.times_s = Some((fields.number()?, fields.number()?));
        }
        if has(EXTENDED) {
            for _ in 0..fields.number()? {
                fields.string()?;
                fields.string()?;
            }
        }
        Ok(attributes)
    }

    pub(crate) fn write(&self, packet: &mut Packet) {
        let flag = |is_known, flag| if is_known { flag } else { 0 };
        packet.number(
            flag(self.size_bytes.is_some(), SIZE)
                | flag(self.owner.is_some(), OWNER)
                | flag(self.mode.is_some(), PERMISSIONS)
                | flag(self.times_s.is_some(), TIMES),
        );
        if let Some(size_bytes) = self.size_bytes {
            packet.long(size_bytes);
        }
        if let Some((user, group)) = self.owner {
            packet.number(user);
            packet.number(group);
        }
        if let Some(mode) = self.mode {
            packet.number(mode);
        }
        if let Some((accessed, modified)) = self.times_s {
            packet.number(accessed);
            packet.number(modified);
        }
    }

    pub(crate) fn of(stat: &Stat) -> Self {
        // The protocol has no times before 1970 or after 2106.
        let time = |seconds: i64| u32::try_from(seconds.max(0)).unwrap_or(u32::MAX);
        Self {
            size_bytes: u64::try_from(stat.st_size).ok(),
            owner: Some((stat.st_uid, stat.st_gid)),
            mode: Some(stat.st_mode),
            times_s: Some((time(stat.st_atime), time(stat.st_mtime))),
        }
    }
}
