//! The processes of a running machine: the VMM process, with the supervisor, and the processes that
//! serve the sandbox's network and its shares.
//!
//! A client of a sandbox (the crate `msb-runtime`) writes a launch spec and spawns the VMM process,
//! which calls [`serve`]. It takes the sandbox's locks, starts the other kinds of processes
//! ([`serve_network`], [`serve_share`], that of forwarded sockets), confines itself, and runs the machine. A thread of it is the
//! supervisor, which runs the main command and the jobs, connects clients to the agent, and ends
//! the machine.
//!
//! [`probe`] tries, from inside, the operations that the confinement must refuse.

mod called_disk;
mod confinement;
mod disk_cut;
mod disk_server;
mod image_disk;
mod log;
mod network_edge;
mod network_log;
mod network_process;
mod one_connection;
mod open_files;
pub mod passed_stream;
mod probe;
mod share_messages;
mod share_process;
mod share_questions;
mod shared_rules;
mod sockets_process;
mod supervisor;
mod vmm_process;

pub use disk_server::DiskServerError;
pub use image_disk::ImageDiskError;
pub use network_edge::NetworkEdgeError;
pub use network_process::{NetworkProcessError, NetworkStartError, serve_network};
pub use probe::{Finding, Trial, probe};
pub use share_process::{ShareProcessError, serve_share};
pub use vmm_process::{Helpers, VmmProcessError, serve, supervise};
