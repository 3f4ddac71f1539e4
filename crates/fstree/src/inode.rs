use std::collections::BTreeMap;

use crate::{InodeId, Metadata, Name};

/// The names in a directory, in bytewise order. `.` and `..` are not included.
pub type Directory = BTreeMap<Name, InodeId>;

/// A device number, as passed to `mknod`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Device {
    /// The number of the driver.
    pub major: u32,
    /// The number of one of the driver's devices.
    pub minor: u32,
}

/// The kind of an inode, with the data that only that kind has. `D` is a regular file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileKind<D> {
    /// A regular file, with its content.
    Regular(D),
    /// A directory, with its names.
    Directory(Directory),
    /// A symbolic link, with its target's bytes.
    Symlink(Box<[u8]>),
    /// A character device, with its number.
    CharDevice(Device),
    /// A block device, with its number.
    BlockDevice(Device),
    /// A named pipe; it has no data.
    Fifo,
    /// A Unix socket; it has no data.
    Socket,
}

/// The type of an inode, with the kernel's `S_IFMT` codes (uapi/linux/stat.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum FileType {
    /// A named pipe, `S_IFIFO`.
    Fifo = 0o010_000,
    /// A character device, `S_IFCHR`.
    CharDevice = 0o020_000,
    /// A directory, `S_IFDIR`.
    Directory = 0o040_000,
    /// A block device, `S_IFBLK`.
    BlockDevice = 0o060_000,
    /// A regular file, `S_IFREG`.
    Regular = 0o100_000,
    /// A symbolic link, `S_IFLNK`.
    Symlink = 0o120_000,
    /// A Unix socket, `S_IFSOCK`.
    Socket = 0o140_000,
}

/// A file of any kind. Its names are in the directories that link it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inode<D> {
    /// The attributes that every kind has.
    pub metadata: Metadata,
    /// The kind of the inode, with its data.
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

    /// Returns the type in a full `st_mode`. `None` for a code that no kernel knows.
    #[must_use]
    pub fn from_mode(st_mode: u16) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.bits() == st_mode & Self::MASK)
    }

    /// Returns the `S_IFMT` bits of this type.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self as u16
    }

    /// Returns the letter of this type in the output of `ls -l`.
    #[must_use]
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
    /// Returns the type of this kind, without the data.
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

    /// Returns the names in a directory. `None` for any other kind.
    pub const fn as_directory(&self) -> Option<&Directory> {
        match self {
            Self::Directory(names) => Some(names),
            _ => None,
        }
    }
}

impl<D> Inode<D> {
    /// Returns `st_mode`: type and permission bits together.
    pub const fn st_mode(&self) -> u16 {
        self.kind.file_type().bits() | (self.metadata.mode & 0o7777)
    }

    /// Returns an empty directory.
    #[must_use]
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
