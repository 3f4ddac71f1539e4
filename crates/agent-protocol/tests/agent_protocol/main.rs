//! A host and a guest, connected by a port in memory.

mod calls;
mod containers;
mod files;
mod guest;
mod heartbeat;
mod sockets;
