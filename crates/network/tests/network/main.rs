//! The network as a guest sees it, without a machine: frames on one end of the socket, servers of
//! the host on the other.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod control;
mod edge;
mod edge_parts;
mod guest;
mod hostile;
mod log;
mod log_of_names;
mod names;
mod packets;
mod proxied;
mod proxies;
mod reported;
mod rules;
mod streams;
