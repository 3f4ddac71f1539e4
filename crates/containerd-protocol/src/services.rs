//! The services of containerd that a shim asks over gRPC: its containers, images, snapshots and content.

use prost::Message;

/// The header of a call with the caller's namespace.
pub const NAMESPACE_HEADER: &str = "containerd-namespace";
/// The path of the call that returns a container.
pub const GET_CONTAINER: &str = "/containerd.services.containers.v1.Containers/Get";
/// The path of the call that returns an image.
pub const GET_IMAGE: &str = "/containerd.services.images.v1.Images/Get";
/// The path of the call that describes a snapshot.
pub const STAT_SNAPSHOT: &str = "/containerd.services.snapshots.v1.Snapshots/Stat";
/// The path of the call that streams a blob.
pub const READ_CONTENT: &str = "/containerd.services.content.v1.Content/Read";

/// The request of `Containers/Get`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetContainerRequest {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
}

/// The response of `Containers/Get`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetContainerResponse {
    /// The container.
    #[prost(message, optional, tag = "1")]
    pub container: Option<Container>,
}

/// A container, whether it has a task or not.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Container {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The name of its image; empty without one.
    #[prost(string, tag = "3")]
    pub image: String,
    /// The snapshotter of its root filesystem.
    #[prost(string, tag = "6")]
    pub snapshotter: String,
    /// The key of the snapshot that is its root filesystem; empty without one.
    #[prost(string, tag = "7")]
    pub snapshot_key: String,
}

/// The request of `Images/Get`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetImageRequest {
    /// The name of the image.
    #[prost(string, tag = "1")]
    pub name: String,
}

/// The response of `Images/Get`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GetImageResponse {
    /// The image.
    #[prost(message, optional, tag = "1")]
    pub image: Option<Image>,
}

/// An image: a name, and the document that it stands for.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Image {
    /// The name of the image.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The manifest, or an index of several.
    #[prost(message, optional, tag = "3")]
    pub target: Option<Descriptor>,
}

/// The description of a blob, `containerd.types.Descriptor`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Descriptor {
    /// The media type.
    #[prost(string, tag = "1")]
    pub media_type: String,
    /// The digest, such as `sha256:` and its digits.
    #[prost(string, tag = "2")]
    pub digest: String,
    /// The length, in bytes.
    #[prost(int64, tag = "3")]
    pub size: i64,
}

/// The request of `Snapshots/Stat`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct StatSnapshotRequest {
    /// The name of the snapshotter.
    #[prost(string, tag = "1")]
    pub snapshotter: String,
    /// The key of the snapshot.
    #[prost(string, tag = "2")]
    pub key: String,
}

/// The response of `Snapshots/Stat`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct StatSnapshotResponse {
    /// The description of the snapshot.
    #[prost(message, optional, tag = "1")]
    pub info: Option<SnapshotInfo>,
}

/// The description of a snapshot.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct SnapshotInfo {
    /// The key of the snapshot.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The key of the snapshot that it begins with: the chain ID of the image's layers. Empty without one.
    #[prost(string, tag = "2")]
    pub parent: String,
}

/// The request of `Content/Read`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ReadContentRequest {
    /// The digest of the blob.
    #[prost(string, tag = "1")]
    pub digest: String,
    /// The first byte to read.
    #[prost(int64, tag = "2")]
    pub offset: i64,
    /// The number of bytes to read; 0 for all that follow.
    #[prost(int64, tag = "3")]
    pub size: i64,
}

/// A part of the response of `Content/Read`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ReadContentResponse {
    /// The place of the bytes in the blob.
    #[prost(int64, tag = "1")]
    pub offset: i64,
    /// The bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub data: Vec<u8>,
}
