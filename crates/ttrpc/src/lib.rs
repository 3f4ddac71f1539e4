//! The unary calls of ttrpc, the protocol between containerd and its shims: frames, a server and a client over any
//! byte stream.
//!
//! ```
//! use std::sync::Arc;
//! use ttrpc::{Call, CallOptions, Client, Code, Service, Status};
//!
//! /// A service with the one method `Echo`, whose answer is its request.
//! struct Echo;
//!
//! impl Service for Echo {
//!     async fn call(&self, call: Call) -> Result<Vec<u8>, Status> {
//!         match (call.service.as_str(), call.method.as_str()) {
//!             ("example.Echo", "Echo") => Ok(call.payload),
//!             _ => Err(call.unimplemented()),
//!         }
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (near, far) = tokio::io::duplex(4096);
//! tokio::spawn(ttrpc::serve(far, Arc::new(Echo)));
//!
//! let client = Client::new(near);
//! let text = String::from("hello");
//! let answer: String = client.call("example.Echo", "Echo", &text, &CallOptions::default()).await?;
//! assert_eq!(answer, "hello");
//! # Ok(())
//! # }
//! ```
//!
//! A frame is a header of [`HEADER_BYTES`] and at most [`MESSAGE_MAX_BYTES`]:
//!
//! ```text
//! 0       4       8      9       10
//! +-------+-------+------+-------+---------------------+
//! | bytes | stream| kind | flags | message, protobuf   |
//! +-------+-------+------+-------+---------------------+
//! ```
//!
//! Neither side is trusted with memory. A server accepts [`CALLS_MAX`] calls of one connection at a time, whose
//! requests have at most [`REQUESTS_MAX_BYTES`] together, and refuses others with [`Code::ResourceExhausted`]; it
//! skips a longer message and answers it so. It reads no further while its answers are not read. Streaming calls are
//! refused with [`Code::Unimplemented`].
//!
//! Source: `PROTOCOL.md` and `request.proto` of github.com/containerd/ttrpc.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod call;
mod client;
mod code;
mod envelope;
mod frame;
mod metadata;
mod pending;
mod receive;
mod server;
mod status;

pub use call::{Call, CallOptions, Service};
pub use client::{CallError, Client};
pub use code::Code;
pub use envelope::{Request, Response};
pub use frame::{Frame, FrameHeader, FrameKind, HEADER_BYTES, MESSAGE_MAX_BYTES, STREAM_OPEN};
pub use metadata::Metadata;
pub use receive::{Received, receive};
pub use server::{CALLS_MAX, REQUESTS_MAX_BYTES, ServeError, serve};
pub use status::Status;
