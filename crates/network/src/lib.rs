//! A sandbox's network, in user space: between the guest's Ethernet frames and the host's sockets.
//!
//! ```text
//! guest ── virtio-net ── VMM ══ frames on a Unix socket ══ switch ─┬─ a TCP stack a connection ── TcpStream
//!                                                                  │                └─ its TLS ended ── TcpStream
//!                                                                  ├─ a UDP flow ─────────────── UdpSocket
//!                                                                  └─ names ────── the host's resolvers
//! ```
//!
//! [`Network`] is one sandbox's network; it runs in its own process. Once it listens on the
//! published ports it needs no privilege, and the VMM needs no socket but the one for frames.
//! [`Settings`] say what the guest may connect to; `docs/network.md` gives the order in which its
//! rules decide. Connections to the hosts of secrets, and of HTTPS requests that are allowed, go
//! through [`msb_tls_edge`], which ends their TLS; the values of secrets arrive on a socket of their
//! own. A network without [`EdgeParts`] does nothing of this. What is allowed is connected to directly, or through an
//! [`UpstreamProxy`]. The supervisor, with which a network is connected by a stream, changes the rules while it runs, and
//! is asked about what they deny. A [`NetworkRecord`] tells of a connection, its end, a refusal or a DNS query.
//!
//! **Limits.** Connections, flows, DNS queries and every queue are bounded. A side that does not
//! read stops the other: nothing is kept for it beyond its TCP buffers. Only IPv4, TCP and UDP are
//! supported; fragments are dropped; only the gateway answers a ping.

#![warn(clippy::as_conversions)]

mod allowed_once;
mod asked_flow;
mod asks;
mod budget;
mod buffers;
mod control;
mod control_clients;
mod datagram_socket;
mod decision;
mod edge;
mod flows;
mod frames;
mod gate;
mod hellos;
mod learned;
mod limits;
mod link;
mod log_detail;
mod log_record;
mod name;
mod names;
mod network;
mod opening;
mod own_address;
mod packet;
mod permit;
mod policy;
mod port;
mod ports;
mod proxy;
mod publish;
mod published;
mod question;
mod queue;
mod recorded_flow;
mod recorder;
mod refusals;
mod replies;
mod resolutions;
mod resolved;
mod resolvers;
mod revocation;
mod route;
mod rule;
mod rules;
mod rules_record;
mod settings;
mod supervisor;
mod supervisor_messages;
mod switch;
mod tcp;
mod tls_events;
mod tls_record;
mod udp;
mod upstream_proxy;
mod watched;
mod ways;
mod window;
mod wire;

pub use edge::EdgeParts;
pub use link::{GATEWAY_ADDRESS, GUEST_ADDRESS, GUEST_MAC, MTU_BYTES, PREFIX_BITS};
pub use log_detail::NetworkLogDetail;
pub use log_record::{
    FlowEnd, NetworkClose, NetworkConnect, NetworkEvent, NetworkQuery, NetworkRecord,
    NetworkReport, NetworkTotals, Verdict,
};
pub use msb_tls_edge::{EdgeEvent, HttpRecord, HttpVerdict};
pub use network::{Network, READY, ServeError};
pub use port::{Host, InvalidPort, Port};
pub use ports::{InvalidPorts, Ports};
pub use proxy::{ProxyUrl, UpstreamProxyError};
pub use publish::{InvalidPublish, Protocol, Publish};
pub use published::{PublishError, check_published};
pub use rule::{InvalidRule, Rule};
pub use rules::{InvalidRules, NetworkRules, RULES_MAX};
pub use rules_record::NetworkRulesChange;
pub use settings::{DefaultPolicy, Settings};
pub use supervisor_messages::{
    FromNetwork, MESSAGE_MAX_BYTES, ToNetwork, Told, message_line, message_of_line,
};
pub use tls_record::NetworkTls;
pub use upstream_proxy::{InvalidUpstreamProxy, PROXY_VARIABLES, UpstreamProxy};
