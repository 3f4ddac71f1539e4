//! The extensions of OpenSSH: requests by name.

use rustix::fs::{StatVfs, StatVfsMountFlags};

use crate::fields::{Fields, Packet, ParseError};
use crate::{Attributes, DATA_MAX_BYTES, HANDLES_MAX, PACKET_MAX_BYTES};

/// The extensions that the server announces, with their versions.
pub(crate) const ANNOUNCED: [(&str, &str); 7] = [
    ("posix-rename@openssh.com", "1"),
    ("statvfs@openssh.com", "2"),
    ("fstatvfs@openssh.com", "2"),
    ("hardlink@openssh.com", "1"),
    ("fsync@openssh.com", "1"),
    ("lsetstat@openssh.com", "1"),
    ("limits@openssh.com", "1"),
];

/// A request of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extension {
    /// Renames a file, in the place of another one if there is one.
    PosixRename {
        /// The path of the file.
        from: Vec<u8>,
        /// The new path, as bytes of the client's choice.
        to: Vec<u8>,
    },
    /// Describes the filesystem of a path.
    StatVfs {
        /// The path, as bytes of the client's choice.
        path: Vec<u8>,
    },
    /// Describes the filesystem of an open file.
    FStatVfs {
        /// The handle, as an earlier answer gave it.
        handle: Vec<u8>,
    },
    /// Gives a file another name.
    HardLink {
        /// The path of the file.
        from: Vec<u8>,
        /// The path of the other name.
        to: Vec<u8>,
    },
    /// Makes the content of a file durable.
    Fsync {
        /// The handle, as an earlier answer gave it.
        handle: Vec<u8>,
    },
    /// Changes the attributes of a file, or of a symlink itself.
    LSetStat {
        /// The path, as bytes of the client's choice.
        path: Vec<u8>,
        /// The attributes that are changed.
        attributes: Attributes,
    },
    /// Asks for the limits of the server.
    Limits,
    /// Any other extension.
    Unknown,
}

impl Extension {
    /// Reads a request behind its name. The fields of an unknown extension are not read.
    pub(crate) fn parse(name: &[u8], fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        Ok(match name {
            b"posix-rename@openssh.com" => Self::PosixRename {
                from: fields.owned()?,
                to: fields.owned()?,
            },
            b"statvfs@openssh.com" => Self::StatVfs {
                path: fields.owned()?,
            },
            b"fstatvfs@openssh.com" => Self::FStatVfs {
                handle: fields.owned()?,
            },
            b"hardlink@openssh.com" => Self::HardLink {
                from: fields.owned()?,
                to: fields.owned()?,
            },
            b"fsync@openssh.com" => Self::Fsync {
                handle: fields.owned()?,
            },
            b"lsetstat@openssh.com" => Self::LSetStat {
                path: fields.owned()?,
                attributes: Attributes::parse(fields)?,
            },
            b"limits@openssh.com" => Self::Limits,
            _ => {
                fields.rest();
                Self::Unknown
            }
        })
    }

    /// Writes the name and the fields.
    pub(crate) fn write(&self, packet: &mut Packet) {
        let strings: (&str, [Option<&Vec<u8>>; 2]) = match self {
            Self::PosixRename { from, to } => ("posix-rename@openssh.com", [Some(from), Some(to)]),
            Self::StatVfs { path } => ("statvfs@openssh.com", [Some(path), None]),
            Self::FStatVfs { handle } => ("fstatvfs@openssh.com", [Some(handle), None]),
            Self::HardLink { from, to } => ("hardlink@openssh.com", [Some(from), Some(to)]),
            Self::Fsync { handle } => ("fsync@openssh.com", [Some(handle), None]),
            Self::LSetStat { path, .. } => ("lsetstat@openssh.com", [Some(path), None]),
            Self::Limits => ("limits@openssh.com", [None, None]),
            Self::Unknown => ("unknown@example.com", [None, None]),
        };
        packet.string(strings.0.as_bytes());
        for string in strings.1.into_iter().flatten() {
            packet.string(string);
        }
        if let Self::LSetStat { attributes, .. } = self {
            attributes.write(packet);
        }
    }
}

/// The limits of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits;

impl Limits {
    pub(crate) fn write(self, packet: &mut Packet) {
        for limit in [
            PACKET_MAX_BYTES,
            DATA_MAX_BYTES,
            DATA_MAX_BYTES,
            HANDLES_MAX,
        ] {
            packet.long(u64::try_from(limit).expect("the limits are small numbers"));
        }
    }
}

/// The state of a filesystem, in the order of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilesystemState([u64; 11]);

impl FilesystemState {
    pub(crate) fn of(state: &StatVfs) -> Self {
        let has = |flag| state.f_flag.contains(flag);
        let flags = u64::from(has(StatVfsMountFlags::RDONLY))
            + 2 * u64::from(has(StatVfsMountFlags::NOSUID));
        Self([
            state.f_bsize,
            state.f_frsize,
            state.f_blocks,
            state.f_bfree,
            state.f_bavail,
            state.f_files,
            state.f_ffree,
            state.f_favail,
            state.f_fsid,
            flags,
            state.f_namemax,
        ])
    }

    pub(crate) fn write(self, packet: &mut Packet) {
        for number in self.0 {
            packet.long(number);
        }
    }
}
