//! The end of a guest's TLS at the hosts of secrets: values placed, requests checked, answers scanned.
//!
//! A guest holds a placeholder in place of each secret. A connection to one of a secret's hosts is ended here:
//! the guest sees a certificate of the sandbox's own [`Authority`], the host has to prove its name with a
//! certificate that the [`Roots`] trust, and the placeholder of a request is replaced where it is a whole
//! credential. Nothing else of a request is changed, and an answer that holds the value does not reach the guest.
//!
//! | Module | Is |
//! |---|---|
//! | [`authority`] | the certificate authority of a sandbox, and its leaf certificates |
//! | [`roots`] | the authorities that a host's certificate is verified against |
//! | [`values`] | the values of the secrets: held, missing, expired, removed |
//! | [`settings`] | the names and ports whose TLS is ended, and the rules of their requests |
//! | [`place`] | the placeholder of a request, replaced by the value: pure |
//! | [`reflect`] | the search of an answer for the value: pure |
//! | [`event`] | what the log of the network records of it |
//! | [`edge`] | all of these for one sandbox |
//! | [`hello`], [`serve`], [`forward`], [`body`], [`upgrade`] | one connection: its hello, both handshakes, its requests, their bodies, its change of protocol |
//! | [`limits`], [`refusal`] | the bounds of a connection, and the answers that msb itself gives |

#![forbid(unsafe_code)]

mod authority;
mod body;
mod edge;
mod event;
mod forward;
mod hello;
mod limits;
mod place;
mod reflect;
mod refusal;
mod roots;
mod serve;
mod settings;
mod upgrade;
mod values;

pub use authority::{Authority, AuthorityError};
pub use edge::{Edge, EdgeError};
pub use event::{EdgeEvent, Events, HttpRecord, HttpVerdict};
pub use roots::{NoRoots, Roots};
pub use serve::Served;
pub use settings::EdgeSettings;
pub use values::{NoSuchSecret, NoValue, Values};
