//! The words that host and guest agent exchange.
//!
//! After a greeting that finds the start of the conversation, one yamux session runs over the virtio-console port; the host is its client side. Every request
//! is one stream of the session: the host sends a [`Request`] frame, then, for an exec, any number
//! of [`Input`] frames; the agent answers with [`Event`] frames and closes. A frame is a 32-bit
//! big-endian length and that many bytes of postcard, at most [`FRAME_MAX_BYTES`].

mod client;
mod frame;
mod greeting;
mod message;
mod session;

pub use client::{ClientError, Events, ExecSession, Inputs, hello, shutdown};
pub use frame::{FrameError, FrameReader, FrameWriter};
pub use message::{
    Event, Exec, ExitStatus, Failure, FailureKind, Info, Input, Request, WindowSize,
};

pub use session::{Session, Stream, serve};

/// The protocol's version. Host and agent are built together, so any difference is an error.
pub const VERSION: u32 = 1;

/// The longest frame, in bytes. Longer ones end the stream.
pub const FRAME_MAX_BYTES: usize = 1 << 20;

/// The most bytes of standard input or output in one frame.
pub const CHUNK_MAX_BYTES: usize = 64 << 10;
