//! The registry client: Distribution API v2, pulling only.
//!
//! Every answer is read into bounded memory and in bounded time, and is what a digest says, or is
//! refused. Credentials go to the registry, or to its token server over TLS, and nowhere else.

mod blob;
mod challenge;
mod client;
mod credentials;
mod documents;
mod error;
mod token;
mod transport;

pub(crate) use blob::PARTS_IN_FLIGHT;
#[cfg(feature = "fuzzing")]
pub(crate) use challenge::Challenge;
pub(crate) use client::Registry;
pub use credentials::{Credential, CredentialSource, CredentialsError, configured_registries};
pub use error::RegistryError;
