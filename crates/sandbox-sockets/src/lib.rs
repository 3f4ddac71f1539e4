//! The sockets of the host that programs of a sandbox reach, for its clients and its process `msb __sockets`.
//!
//! ```text
//! options ── sandbox.json: paths of the host and of the guest
//! start ──── check: each socket of the host exists, is not that of an engine, and no guest can lead its path elsewhere
//! msb __sockets ── serve: listens in the guest, connects on the host, carries bytes
//!        └── ssh_agent: lists keys and signs, answers everything else with a failure
//! ```
//!
//! The process is a client of the sandbox's supervisor, which serves it calls about sockets and no others. Its end of the
//! connection is standard input, so that it ends with the machine. A path of the host is followed once, before the guest
//! runs; from then on the process uses the directory that it has open. All that comes from the guest is hostile:
//! connections, messages and the lines of the log are bounded.
//!
//! **Errors.** [`SocketsError`] names the path on the host, or that in the guest.

#![forbid(unsafe_code)]

mod budget;
mod check;
mod door;
mod engines;
mod error;
mod forward;
mod host;
mod log;
mod long_file;
mod serve;
mod shared_directories;
pub mod ssh_agent;
mod way;

pub use check::check;
pub use error::SocketsError;
pub use serve::serve;
