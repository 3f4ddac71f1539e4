//! The end of a guest's TLS at the hosts of secrets: values placed, requests checked, answers scanned.
//!
//! A guest holds a placeholder in place of each secret. A connection to one of a secret's hosts is ended here:
//! the guest sees a certificate of the sandbox's own [`Authority`], the host has to prove its name with a
//! certificate that the [`Roots`] trust, and the placeholder of a request is replaced where it is a whole
//! credential. Nothing else of a request is changed, and an answer that holds the value does not reach the guest.
//!
//! ```text
//! guest ── hello ─┬─ serve: both handshakes ── forward: each request ── place ── host
//!                 └─ another name: passed on                      └── reflect ── guest
//! ```
//!
//! A sandbox may have a thousand connections and 96 requests at once. Between its requests a connection in HTTP/1.1 holds two
//! sessions of TLS and no HTTP, and whoever sends waits until it has its turn.
//!
//! [`Edge`] is the end of TLS for one sandbox. [`EdgeSettings`] name the hosts, [`Values`] hold what the placeholders
//! stand for, and an [`EdgeEvent`] tells of each request and of each value that was withheld.
//!
//! **Limits.** What a guest or a host sends is bounded in memory and in time. A value that a host returns in another
//! form than as it is, in base64, percent-encoded, or as JSON and HTML write it, reaches the guest, and so does what
//! the host answers with its help.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod authority;
mod body;
mod check;
mod connection;
mod control;
mod edge;
mod edge_error;
mod event;
mod exchanges;
mod forms;
mod forward;
mod gates;
mod headers;
mod hello;
mod http1;
mod limits;
mod needle;
mod passing;
mod pending;
mod place;
mod raw;
mod record;
mod records;
mod reflect;
mod refusal;
mod roots;
mod serve;
mod served;
mod settings;
mod side;
mod tasks;
mod tls;
mod turn;
mod upgrade;
mod upstream;
mod values;
mod watch;

#[cfg(test)]
mod fixtures;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;

pub use authority::{Authority, AuthorityError};
pub use edge::Edge;
pub use edge_error::EdgeError;
pub use event::{EdgeEvent, Events, HttpRecord, HttpVerdict};
pub use limits::{CONNECTIONS_MAX, MEMORY_MAX_BYTES};
pub use passing::{PassingHello, Seen};
pub use roots::{NoRoots, Roots};
pub use served::{Refused, Served};
pub use settings::EdgeSettings;
pub use values::{NoSuchSecret, NoValue, NotSet, Values};
