use msb_agent_protocol::v1::{FileStat, FileType as ProtocolType};
use msb_client::Text;
use serde::{Deserialize, Serialize};

/// The attributes of a file in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileInfo {
    /// The name, without its directory.
    pub name: Text,
    /// The type.
    #[serde(rename = "type")]
    pub file_type: FileType,
    /// The 12 permission bits.
    pub mode: u32,
    /// User id of the owner.
    pub uid: u32,
    /// Group id of the owner.
    pub gid: u32,
    /// The size, in bytes.
    pub size_bytes: u64,
    /// The time of the last change of content, in seconds since the epoch.
    pub mtime_s: i64,
    /// Nanoseconds after `mtime_s`.
    pub mtime_ns: u32,
    /// The target of a symlink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Text>,
    /// Major and minor number of a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<[u32; 2]>,
}

/// The type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FileType {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A type that the guest did not name.
    Unknown,
}

impl FileInfo {
    /// Returns the description of a file of this name.
    pub fn new(name: impl Into<Text>, stat: &FileStat) -> Self {
        let file_type = FileType::from(stat.r#type());
        let is_device = matches!(file_type, FileType::CharDevice | FileType::BlockDevice);
        let is_link = file_type == FileType::Symlink;
        Self {
            name: name.into(),
            file_type,
            mode: stat.mode,
            uid: stat.uid,
            gid: stat.gid,
            size_bytes: stat.size,
            mtime_s: stat.mtime_s,
            mtime_ns: stat.mtime_ns,
            target: is_link.then(|| Text::from(&stat.link_target[..])),
            device: is_device.then_some([stat.device_major, stat.device_minor]),
        }
    }

    /// Returns true if it is a directory.
    pub fn is_directory(&self) -> bool {
        self.file_type == FileType::Directory
    }
}

impl From<ProtocolType> for FileType {
    fn from(file_type: ProtocolType) -> Self {
        match file_type {
            ProtocolType::Regular => Self::File,
            ProtocolType::Directory => Self::Directory,
            ProtocolType::Symlink => Self::Symlink,
            ProtocolType::CharDevice => Self::CharDevice,
            ProtocolType::BlockDevice => Self::BlockDevice,
            ProtocolType::Fifo => Self::Fifo,
            ProtocolType::Socket => Self::Socket,
            ProtocolType::Unknown => Self::Unknown,
        }
    }
}
