//! A client of OCI registries: Distribution API v2, pulling only.
//!
//! Every response is read into bounded memory and in bounded time; if its digest is known, it must
//! match. Credentials are sent only to the registry, or to its token server over TLS.

mod address;
mod blob;
mod body;
mod challenge;
mod client;
mod connect_error;
mod credentials;
mod documents;
mod endpoint;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod limits;
mod private;
mod proxy;
mod repository;
mod retry;
mod retry_listener;
mod settings;
mod tls;
mod tls_probe;
mod token;
mod transport;

pub use blob::{BlobSource, PARTS_IN_FLIGHT};
pub use client::Client;
pub use connect_error::ConnectError;
pub use credentials::{Credential, CredentialSource, CredentialsError, configured_registries};
pub use error::RegistryError;
pub use limits::RegistryLimits;
pub use proxy::Proxies;
pub use repository::Repository;
pub use retry_listener::{Retry, RetryListener};
pub use settings::{Registries, RegistriesError, RegistrySettings};
