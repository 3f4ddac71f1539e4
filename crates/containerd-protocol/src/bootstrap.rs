//! The start of a shim, package `containerd.runtime.bootstrap.v1`, and its description.

use std::collections::HashMap;

use prost::Message;

use crate::{Any, Named};

/// The version of a shim's protocol that has Task version 3.
pub const VERSION_3: i32 = 3;
/// The name of the protocol `ttrpc`.
pub const PROTOCOL_TTRPC: &str = "ttrpc";
/// The annotation of [`RuntimeInfo`] with the kinds of mounts that the shim makes itself, with commas between them.
/// containerd 2.2 and 2.3 read it.
pub const ALLOWED_MOUNTS: &str = "containerd.io/runtime-allow-mounts";

/// The input of a shim's start, since containerd 2.3.
#[derive(Clone, PartialEq, Message)]
pub struct BootstrapParams {
    /// The id of the container or of the sandbox.
    #[prost(string, tag = "1")]
    pub instance_id: String,
    /// The namespace of the container.
    #[prost(string, tag = "2")]
    pub namespace: String,
    /// The level of the log: 0 is information, lower is more.
    #[prost(int32, tag = "3")]
    pub log_level: i32,
    /// The version of containerd.
    #[prost(string, tag = "4")]
    pub containerd_version: String,
    /// The address of containerd's ttrpc services.
    #[prost(string, tag = "5")]
    pub containerd_ttrpc_address: String,
    /// The address of containerd's gRPC services.
    #[prost(string, tag = "6")]
    pub containerd_grpc_address: String,
    /// The path of containerd's program.
    #[prost(string, tag = "7")]
    pub containerd_binary: String,
    /// Further settings, such as the runtime's options.
    #[prost(message, repeated, tag = "8")]
    pub extensions: Vec<Extension>,
    /// The directory for the shim's socket.
    #[prost(string, tag = "9")]
    pub socket_dir: String,
}

/// A further setting or answer.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Extension {
    /// The message.
    #[prost(message, optional, tag = "1")]
    pub value: Option<Any>,
}

/// The answer of a shim's start, since containerd 2.3.
#[derive(Clone, PartialEq, Message)]
pub struct BootstrapResult {
    /// The version of the shim's protocol.
    #[prost(int32, tag = "1")]
    pub version: i32,
    /// The address of the shim's services, such as `unix:///run/containerd/s/…`.
    #[prost(string, tag = "2")]
    pub address: String,
    /// The protocol of the address, [`PROTOCOL_TTRPC`].
    #[prost(string, tag = "3")]
    pub protocol: String,
    /// Further facts on the shim.
    #[prost(map = "string, string", tag = "5")]
    pub metadata: HashMap<String, String>,
    /// Further answers, such as [`MountCapabilities`](crate::mount::MountCapabilities).
    #[prost(message, repeated, tag = "6")]
    pub extensions: Vec<Extension>,
}

/// The description of a runtime, `containerd.types.RuntimeInfo`, that its program prints with `-info`.
#[derive(Clone, PartialEq, Message)]
pub struct RuntimeInfo {
    /// The name of the runtime, such as `io.containerd.runc.v2`.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The version of the program.
    #[prost(message, optional, tag = "2")]
    pub version: Option<RuntimeVersion>,
    /// The options of the runtime.
    #[prost(message, optional, tag = "3")]
    pub options: Option<Any>,
    /// The features of the runtime.
    #[prost(message, optional, tag = "4")]
    pub features: Option<Any>,
    /// Further facts, such as [`ALLOWED_MOUNTS`].
    #[prost(map = "string, string", tag = "5")]
    pub annotations: HashMap<String, String>,
}

/// The version of a runtime's program.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct RuntimeVersion {
    /// The version.
    #[prost(string, tag = "1")]
    pub version: String,
    /// The revision of the source.
    #[prost(string, tag = "2")]
    pub revision: String,
}

impl Named for BootstrapParams {
    const TYPE_NAME: &'static str = "containerd.runtime.bootstrap.v1.BootstrapParams";
}

impl Named for BootstrapResult {
    const TYPE_NAME: &'static str = "containerd.runtime.bootstrap.v1.BootstrapResult";
}
