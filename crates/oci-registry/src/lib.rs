//! A client of OCI registries: Distribution API v2, pulls and pushes.
//!
//! Every response is read into bounded memory and in bounded time; if its digest is known, it must
//! match. Credentials are sent only to the registry, or to its token server over TLS.

mod address;
mod blob;
mod blob_address;
mod body;
mod challenge;
mod client;
mod connect_error;
mod credential_helper;
mod credentials;
mod delivery;
mod destination;
mod docker_config;
mod docker_config_file;
mod documents;
mod download;
mod endpoint;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod limits;
mod login;
mod private;
mod proxy;
mod ranges;
mod repository;
mod repository_blob;
mod requested_bytes;
mod retry;
mod retry_listener;
mod settings;
mod tls;
mod tls_probe;
mod token;
mod transport;
mod upload;

pub use blob::{BlobSource, PARTS_IN_FLIGHT};
pub use client::Client;
pub use connect_error::ConnectError;
pub use credentials::{Credential, CredentialSource, CredentialsError};
pub use destination::{BlobState, Destination};
pub use docker_config::configured_registries;
pub use error::RegistryError;
pub use limits::RegistryLimits;
pub use login::{LoginError, Registry, StoredIn};
pub use proxy::Proxies;
pub use repository::Repository;
pub use repository_blob::RepositoryBlob;
pub use retry_listener::{Retry, RetryListener};
pub use settings::{Registries, RegistriesError, RegistrySettings};
pub use upload::{BlobBytes, ReadError, UploadProgress, UploadSession};
