//! A server of SFTP version 3 over any byte stream.
//!
//! [`serve`] answers one request after the other with system calls of its own process: it has the rights of that
//! process, and its working directory is where relative paths begin. It serves what OpenSSH's `sftp`, `scp` and
//! `sshfs` use, with these extensions of OpenSSH: `posix-rename`, `statvfs`, `fstatvfs`, `hardlink`, `fsync`,
//! `lsetstat` and `limits`.
//!
//! ```
//! use sftp_server::{Request, Response};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut input = 5_u32.to_be_bytes().to_vec();
//! input.extend([1, 0, 0, 0, 3]); // SSH_FXP_INIT, version 3
//! input.extend(Request::RealPath { path: b"/".to_vec() }.to_packet(7));
//! let mut output = Vec::new();
//! sftp_server::serve(&input[..], &mut output)?;
//!
//! let version_bytes = 4 + u32::from_be_bytes(*output.first_chunk().expect("a length")) as usize;
//! let (id, answer) = Response::parse(&output[version_bytes + 4..])?;
//! assert!(id == 7 && matches!(answer, Response::Names(names) if names[0].path == b"/"));
//! # Ok(())
//! # }
//! ```
//!
//! The client is not trusted with memory: a packet has at most [`PACKET_MAX_BYTES`], a client at most
//! [`HANDLES_MAX`] open files, and an answer is written before the next request is read. It is trusted with
//! everything that the rights of the process permit.
//!
//! Source: draft-ietf-secsh-filexfer-02, and `PROTOCOL` of OpenSSH for its extensions. As OpenSSH has it, the
//! arguments of `SSH_FXP_SYMLINK` are the target and then the link.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod attributes;
mod change;
mod directory;
mod extension;
mod fields;
mod files;
mod handles;
mod long_name;
mod request;
mod request_packet;
mod response;
mod serve;
mod server;
mod status;

pub use attributes::Attributes;
pub use extension::{Extension, FilesystemState, Limits};
pub use fields::ParseError;
pub use request::{Open, Request};
pub use response::{Name, Response};
pub use serve::{ServeError, serve};
pub use status::Status;

/// The most bytes of a packet, without its length. It is the limit of OpenSSH.
pub const PACKET_MAX_BYTES: usize = 256 << 10;
/// The most bytes of file data in one packet: a packet without room for the other fields.
pub const DATA_MAX_BYTES: usize = PACKET_MAX_BYTES - 1024;
/// The number of files and directories that a client may have open.
pub const HANDLES_MAX: usize = 256;
/// The version of the protocol.
pub(crate) const VERSION: u32 = 3;
