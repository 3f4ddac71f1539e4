//! Secrets that a sandbox uses and never has.
//!
//! A guest holds a [`Placeholder`] in place of each [`Secret`]. The sandbox's network process replaces
//! it by the value in requests to the secret's [destinations](HttpsDestination). [`resolve`] reads the
//! values on the host, a [`ControlClient`] sends them to the network process, and [`refresh`] sends them
//! again before they expire.
//!
//! ```
//! use msb_secrets::{Secret, SecretSource, SecretValue};
//!
//! let secret: Secret = "GH_TOKEN@github.com,api.github.com/repos/*:GET".parse()?;
//! assert_eq!(secret.from, SecretSource::Env("GH_TOKEN".to_owned()));
//! assert!(secret.to[1].admits("GET", "/repos/msb/msb"));
//! assert!(!secret.to[1].admits("POST", "/repos/msb/msb"));
//! assert!(!secret.to[1].admits("GET", "/repos/%2e%2e/user"));
//!
//! let value = SecretValue::new("ghp_01234567")?;
//! assert_eq!(format!("{value:?}"), "…");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! A sandbox has at most [`SECRETS_MAX`] secrets with [`DESTINATIONS_MAX`] destinations each, a value
//! has from [`VALUE_MIN_BYTES`] to [`VALUE_MAX_BYTES`] bytes, and a command has [`SOURCE_TIMEOUT`] to print it.
//!
//! # Errors
//! No error contains a value, nor a part of an option that might be one. Each says what to write instead.

#![forbid(unsafe_code)]

mod check;
mod control;
mod destination;
mod host;
mod interval;
mod method;
mod name;
mod path;
mod path_pattern;
mod placeholder;
mod placement;
mod refresh;
mod resolve;
mod secret;
mod shown;
mod source;
#[cfg(test)]
mod test_server;
mod value;
mod wait;

pub use check::{check_all, notices};
pub use control::{
    ControlAnswer, ControlClient, ControlError, ControlRequest, LINE_MAX_BYTES, SecretState,
    ValueState, is_own_peer,
};
pub use destination::{HttpsDestination, InvalidDestination};
pub use host::{HostName, HostPattern, InvalidHost};
pub use interval::{EVERY_MAX_S, EVERY_MIN_S, InvalidInterval};
pub use method::{InvalidMethod, Method};
pub use name::{InvalidName, SecretName};
pub use path::{InvalidPath, PATH_MAX_BYTES, checked_path};
pub use path_pattern::{InvalidPathPattern, PathPattern};
pub use placeholder::{InvalidPlaceholder, Placeholder, PlaceholderError};
pub use placement::{InvalidPlacement, Placement};
pub use refresh::refresh;
pub use resolve::{
    CommandError, ResolveError, ResolvedSecret, SOURCE_TIMEOUT, resolve, resolve_one,
};
pub use secret::{DESTINATIONS_MAX, InvalidSecret, SECRETS_MAX, Secret};
pub use source::{InvalidSource, SecretSource};
pub use value::{InvalidValue, SecretValue, VALUE_MAX_BYTES, VALUE_MIN_BYTES};
