use std::error::Error;
use std::io;
use std::sync::Arc;

use oci_layers::{Exceeded, Limits};

use crate::ingest::{ImportError, Ingest, LayerSource};
use crate::platform::Platform;
use crate::progress::Progress;
use crate::reference::Reference;
use crate::registry::{Client, CredentialSource, Registries, RegistryError, RegistryLimits};
use crate::store::origin::Origin;
use crate::store::session::Session;
use crate::store::stamp::Trust;
use crate::store::{Store, StoredImage};

/// Options of a pull.
#[derive(Debug, Clone, Default)]
pub struct PullOptions {
    /// Platform of the image to choose from an index; `None` for the host's.
    pub platform: Option<Platform>,
    /// True to use HTTP without TLS. Registries on the loopback interface are used without TLS
    /// anyway, unless they answer TLS or certificate authorities are named.
    pub plain_http: bool,
    /// Source of the credentials.
    pub credentials: CredentialSource,
    /// True to verify by digest the parts that are already stored, and to make damaged ones again.
    pub verify: bool,
    /// Mirrors, proxies and certificates.
    pub registries: Registries,
    /// Timeouts, retries and size limits for registries.
    pub patience: RegistryLimits,
    /// Limits on the cost of the image.
    pub limits: Limits,
}

/// Reference to pull, with the names and the origin to record.
pub(crate) struct Target<'a> {
    pub(crate) reference: &'a Reference,
    pub(crate) names: &'a [Reference],
    pub(crate) origin: Origin,
}

/// An error while an image is pulled.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// The registry did not deliver valid documents.
    #[error("cannot pull {reference}")]
    Registry {
        /// Name of the image to pull.
        reference: String,
        /// Cause reported by the registry client.
        #[source]
        source: RegistryError,
    },
    /// The image's layers cannot be stored.
    #[error("cannot pull {reference}")]
    Import {
        /// Name of the image to pull.
        reference: String,
        /// Cause reported by the import.
        #[source]
        source: ImportError,
    },
    /// The store cannot be written.
    #[error("cannot write to the store")]
    Io(#[source] io::Error),
}

impl PullError {
    /// Returns a hint for the user; `None` if there is no remedy.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Registry { source, .. } => source.hint().or_else(|| exceeded_hint(source)),
            Self::Import { source, .. } => import_hint(source),
            Self::Io(error) => space_hint(error),
        }
    }
}

impl Store {
    /// Pulls an image: resolves it at the registry, downloads the layers that are not in the store,
    /// and records its name. After a failure, completed layers stay in the store.
    ///
    /// # Errors
    /// If the registry or the host fails permanently, or if something does not match its digest.
    pub async fn pull(
        &self,
        reference: &Reference,
        options: &PullOptions,
        progress: Arc<dyn Progress>,
    ) -> Result<StoredImage, PullError> {
        let target = Target {
            reference,
            names: std::slice::from_ref(reference),
            origin: Origin::Registry {
                reference: reference.to_string(),
                plain_http: options.plain_http,
            },
        };
        self.pull_as(&target, options, progress).await
    }

    /// Pulls an image with the names and the origin of the target.
    pub(crate) async fn pull_as(
        &self,
        target: &Target<'_>,
        options: &PullOptions,
        progress: Arc<dyn Progress>,
    ) -> Result<StoredImage, PullError> {
        let session = Arc::new(Session::begin(&self.layout).await.map_err(PullError::Io)?);
        let outcome = self.pull_in(&session, target, options, progress).await;
        session.end().await;
        outcome
    }

    async fn pull_in(
        &self,
        session: &Arc<Session>,
        target: &Target<'_>,
        options: &PullOptions,
        progress: Arc<dyn Progress>,
    ) -> Result<StoredImage, PullError> {
        let reference = target.reference;
        let failed = |source| PullError::Registry {
            reference: reference.familiar(),
            source,
        };
        let wanted = options.platform.clone().unwrap_or_else(Platform::host);
        let patience = options.patience.within(&options.limits);
        let client = Client {
            repository: reference.repository().to_owned(),
            plain_http: options.plain_http,
            credentials: &options.credentials,
            registries: &options.registries,
            limits: &patience,
            progress: Arc::clone(&progress),
        };
        let registry = client.connect(reference).await.map_err(failed)?;
        let image = registry.image(reference, &wanted).await.map_err(failed)?;
        let ingest = Ingest {
            layout: self.layout.clone(),
            session: Arc::clone(session),
            source: LayerSource::Registry(Arc::new(registry)),
            origin: target.origin.clone(),
            trust: Trust::verifying(options.verify),
            limits: options.limits.clone(),
            progress,
        };
        ingest
            .run(&image, target.names)
            .await
            .map_err(|source| PullError::Import {
                reference: reference.familiar(),
                source,
            })
    }
}

/// Returns a hint on the limit among the causes of an error; `None` if there is no limit.
pub(crate) fn exceeded_hint(error: &(dyn Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(exceeded) = error.downcast_ref() {
            return Some(limit_hint(exceeded));
        }
        cause = error.source();
    }
    None
}

/// Returns a hint on a failed import; `None` if there is no remedy.
pub(crate) fn import_hint(error: &ImportError) -> Option<String> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(hint) = error
            .downcast_ref::<RegistryError>()
            .and_then(RegistryError::hint)
        {
            return Some(hint);
        }
        if let Some(exceeded) = error.downcast_ref::<Exceeded>() {
            return Some(limit_hint(exceeded));
        }
        if let Some(hint) = error.downcast_ref::<io::Error>().and_then(space_hint) {
            return Some(hint);
        }
        cause = error.source();
    }
    None
}

/// Returns a hint on how to raise a limit.
pub(crate) fn limit_hint(exceeded: &Exceeded) -> String {
    let name = exceeded.limit.name();
    format!(
        "if the image is to be trusted, raise it: --limit {name}=VALUE or MSB_LIMITS={name}=VALUE"
    )
}

pub(crate) fn space_hint(error: &io::Error) -> Option<String> {
    let full = matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    );
    full.then(|| "make room, remove images (msb image rm), or set MSB_HOME elsewhere".to_owned())
}
