//! The sockets of the host that programs of a sandbox reach, for its clients and its process `msb __sockets`.
//!
//! ```text
//! options ── sandbox.json: paths of the host and of the guest
//! start ──── check: each socket of the host exists, and is not that of a container engine
//! msb __sockets ── serve: listens in the guest, connects on the host, carries bytes
//!        └── ssh_agent: lists keys and signs, answers everything else with a failure
//! ```
//!
//! The process is an ordinary client of the sandbox's supervisor. Its end of the connection is standard input, so that
//! it ends with the machine. All that comes from the guest is hostile: connections, messages and the lines of the log
//! are bounded.
//!
//! **Errors.** [`SocketsError`] names the path on the host, or that in the guest.

#![forbid(unsafe_code)]

mod check;
mod door;
mod error;
mod forward;
mod host;
mod log;
mod serve;
pub mod ssh_agent;

pub use check::check;
pub use error::SocketsError;
pub use serve::serve;
