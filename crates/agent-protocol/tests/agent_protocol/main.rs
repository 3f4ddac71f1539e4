//! A host and a guest, joined by a port in memory.

mod calls;
mod files;
mod guest;
mod heartbeat;
