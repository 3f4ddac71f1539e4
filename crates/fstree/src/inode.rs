use std::collections::BTreeMap;

use crate::{InodeId, Metadata, Name};

/// The names in a directory, in bytewise order. `.` and `..` are not among them.
pub type Directory = BTreeMap<Name, InodeId>;

/// A device number, as `mknod` takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Device {
    /// Which driver.
    pub major: u32,
    /// Which of the driver's devices.
    pub minor: u32,
}

/// What an inode is, with what only that kind has. `D` is a regular file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileKind<D> {
    /// A regular file.
    Regular(D),
    /// A directory.
    Directory(Directory),
    /// A symbolic link and its target's bytes.
    Symlink(Box<[u8]>),
    /// A character device.
    CharDevice(Device),
    /// A block device.
    BlockDevice(Device),
    /// A named pipe.
    Fifo,
    /// A Unix socket.
    Socket,
}

/// The type alone, with the kernel's `S_IFMT` codes (uapi/linux/stat.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum FileType {
    /// `S_IFIFO`
    Fifo = 0o010_000,
    /// `S_IFCHR`
    CharDevice = 0o020_000,
    /// `S_IFDIR`
    Directory = 0o040_000,
    /// `S_IFBLK`
    BlockDevice = 0o060_000,
    /// `S_IFREG`
    Regular = 0o100_000,
    /// `S_IFLNK`
    Symlink = 0o120_000,
    /// `S_IFSOCK`
    Socket = 0o140_000,
}

/// One file of any kind. Its names are in the directories that link it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inode<D> {
    /// What every kind has.
    pub metadata: Metadata,
    /// What it is.
    pub kind: FileKind<D>,
}

impl FileType {
    const ALL: [Self; 7] = [
        Self::Fifo,
        Self::CharDevice,
        Self::Directory,
        Self::BlockDevice,
        Self::Regular,
        Self::Symlink,
        Self::Socket,
    ];

    /// `S_IFMT`: the bits of a mode that hold the type.
    pub const MASK: u16 = 0o170_000;

    /// The type in a full `st_mode`, or `None` for a code that no kernel knows.
    pub fn from_mode(st_mode: u16) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.bits() == st_mode & Self::MASK)
    }

    /// The `S_IFMT` bits of this type.
    pub const fn bits(self) -> u16 {
        self as u16
    }

    /// The letter that `ls -l` shows.
    pub const fn letter(self) -> char {
        match self {
            Self::Fifo => 'p',
            Self::CharDevice => 'c',
            Self::Directory => 'd',
            Self::BlockDevice => 'b',
            Self::Regular => '-',
            Self::Symlink => 'l',
            Self::Socket => 's',
        }
    }
}

impl<D> FileKind<D> {
    /// The type alone.
    pub const fn file_type(&self) -> FileType {
        match self {
            Self::Regular(_) => FileType::Regular,
            Self::Directory(_) => FileType::Directory,
            Self::Symlink(_) => FileType::Symlink,
            Self::CharDevice(_) => FileType::CharDevice,
            Self::BlockDevice(_) => FileType::BlockDevice,
            Self::Fifo => FileType::Fifo,
            Self::Socket => FileType::Socket,
        }
    }

    /// The names in it, where it is a directory.
    pub const fn as_directory(&self) -> Option<&Directory> {
        match self {
            Self::Directory(names) => Some(names),
            _ => None,
        }
    }
}

impl<D> Inode<D> {
    /// Type and permission bits together: `st_mode`.
    pub const fn st_mode(&self) -> u16 {
        self.kind.file_type().bits() | (self.metadata.mode & 0o7777)
    }

    /// An empty directory.
    pub const fn directory(metadata: Metadata) -> Self {
        Self {
            metadata,
            kind: FileKind::Directory(Directory::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_types_are_masked_and_compared() {
        assert_eq!(FileType::from_mode(0o140_755), Some(FileType::Socket));
        assert_eq!(FileType::from_mode(0o060_600), Some(FileType::BlockDevice));
        assert_eq!(FileType::from_mode(0o170_000), None);
        assert_eq!(FileType::from_mode(0o000_644), None);
    }
}
