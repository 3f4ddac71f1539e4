//! A sandbox's network, in user space: between the guest's Ethernet frames and the host's sockets.
//!
//! ```text
//! guest ── virtio-net ── VMM ══ frames on a Unix socket ══ switch ─┬─ a TCP stack a connection ── TcpStream
//!                                                                  ├─ a UDP flow ─────────────── UdpSocket
//!                                                                  └─ names ────── the host's resolvers
//! ```
//!
//! [`Network`] is one sandbox's network, in a process of its own. Once it listens on the published
//! ports it needs no privilege, and the VMM no socket but the one for frames. What the guest may reach is said by [`Settings`]; the order in
//! which its rules decide is in `docs/network.md`.
//!
//! **Limits.** Connections, flows, questions for names and everything that waits are bounded. A peer
//! that does not read stops the other: nothing is kept for it beyond its TCP buffers. IPv4, TCP and
//! UDP only; fragments are dropped; only the gateway answers a ping.

#![warn(clippy::as_conversions)]

mod budget;
mod buffers;
mod datagram_socket;
mod flows;
mod frames;
mod learned;
mod limits;
mod link;
mod name;
mod names;
mod network;
mod own_address;
mod packet;
mod policy;
mod ports;
mod publish;
mod published;
mod question;
mod queue;
mod replies;
mod resolvers;
mod rule;
mod settings;
mod switch;
mod tcp;
mod udp;
mod wire;

pub use link::{GATEWAY_ADDRESS, GUEST_ADDRESS, GUEST_MAC, MTU_BYTES, PREFIX_BITS};
pub use network::{Network, READY, ServeError};
pub use ports::{InvalidPorts, Ports};
pub use publish::{InvalidPublish, Protocol, Publish};
pub use published::{PublishError, check_published};
pub use rule::{InvalidRule, Rule};
pub use settings::{Reach, Settings};
