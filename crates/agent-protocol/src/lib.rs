//! The protocol between host and guest agent: gRPC, defined by `proto/msb/v1/sandbox.proto` and, for containers in the
//! guest, `containers.proto` beside it.
//!
//! After a greeting that marks the start of a session, one HTTP/2 connection runs over the
//! virtio-console port, with the host as the client. The supervisor serves the same service on a
//! Unix socket, mostly as a [`Proxy`], so any gRPC client can talk to a sandbox.

mod chunks;
mod client;
mod connection;
mod containers;
mod error;
mod exec;
mod files;
mod freeze;
mod greeting;
mod heartbeat;
mod length;
mod network;
mod ownership;
mod proxy;
mod questions;
mod roll_back;
mod services;
mod socket_service;
mod sockets;

/// The generated code of `proto/`: the messages, the clients, and the servers' traits.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::too_many_lines,
    reason = "generated code is not ours to shape"
)]
pub mod v1 {
    tonic::include_proto!("msb.v1");
}

pub use bytes::Bytes;
pub use chunks::{ChunkReader, ChunkWriter};
pub use client::Client;
pub use connection::{Connection, ConnectionError, serve, serve_kept, serve_port, serve_sockets};
pub use error::ClientError;
pub use exec::{Command, Control, Inputs, Output, Outputs};
pub use files::{Archive, Listing};
pub use freeze::FrozenDisk;
pub use heartbeat::{Heartbeat, SilentPeer};
pub use length::{TooLong, check_length};
pub use network::KeepingRules;
pub use ownership::Ownership;
pub use proxy::{Passage, Proxy, Silence};
pub use questions::QuestionEvents;
pub use roll_back::RollingBack;
pub use sockets::{Accepts, GuestReader, GuestSocket, GuestWriter, Target};
pub use tonic::{Code, Request, Response, Status, Streaming, async_trait};

/// The version of the service. An older peer answers calls that it lacks with `UNIMPLEMENTED`.
pub const VERSION: u32 = 2;

/// The oldest version of an agent that this host supports.
pub const OLDEST_VERSION: u32 = 2;

/// The longest message, in bytes. A longer one ends its call.
pub const MESSAGE_MAX_BYTES: usize = 1 << 20;

/// The largest part of standard input or output in one message, in bytes.
pub const CHUNK_MAX_BYTES: usize = 64 << 10;

/// The names of a `Ulimit`: docker's names of the resources of setrlimit(2).
pub const ULIMIT_NAMES: [&str; 15] = [
    "core",
    "cpu",
    "data",
    "fsize",
    "locks",
    "memlock",
    "msgqueue",
    "nice",
    "nofile",
    "nproc",
    "rss",
    "rtprio",
    "rttime",
    "sigpending",
    "stack",
];
