//! Mounts of root filesystems, package `containerd.types`.

use prost::Message;

use crate::Named;

/// A mount of a root filesystem, as a snapshotter describes it.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Mount {
    /// The type of the filesystem, such as `erofs`, or transforms before it, such as `format/mkdir/overlay`.
    #[prost(string, tag = "1")]
    pub r#type: String,
    /// The source: a device, an image or a directory of the host.
    #[prost(string, tag = "2")]
    pub source: String,
    /// The directory below the root to mount at; mostly empty.
    #[prost(string, tag = "3")]
    pub target: String,
    /// The options of the mount.
    #[prost(string, repeated, tag = "4")]
    pub options: Vec<String>,
}

/// The mounts that a shim makes itself, an extension of the result of its start.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct MountCapabilities {
    /// The types of filesystems, such as `erofs`.
    #[prost(string, repeated, tag = "1")]
    pub types: Vec<String>,
    /// The transforms before them, such as `format`.
    #[prost(string, repeated, tag = "2")]
    pub transforms: Vec<String>,
}

impl Named for MountCapabilities {
    const TYPE_NAME: &'static str = "containerd.types.MountCapabilities";
}
