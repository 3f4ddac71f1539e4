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

/// How to pull.
#[derive(Debug, Clone, Default)]
pub struct PullOptions {
    /// Which of an index's images; `None` for the host's.
    pub platform: Option<Platform>,
    /// Speak HTTP without TLS. Registries on the loopback interface are spoken to so, unless they answer
    /// TLS, or certificate authorities are named.
    pub plain_http: bool,
    /// Where credentials come from.
    pub credentials: CredentialSource,
    /// Digest what the store has of the image already, and make anew what is damaged.
    pub verify: bool,
    /// Mirrors, proxies and certificates.
    pub registries: Registries,
    /// How long to wait for registries, and how often to ask.
    pub patience: RegistryLimits,
    /// What the image may cost.
    pub limits: Limits,
}

/// What is pulled, and what the store shall know of it.
pub(crate) struct Target<'a> {
    pub(crate) reference: &'a Reference,
    pub(crate) names: &'a [Reference],
    pub(crate) origin: Origin,
}

/// Why an image was not pulled.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// The registry did not give its documents, or not the right ones.
    #[error("cannot pull {reference}")]
    Registry {
        /// What was to be pulled.
        reference: String,
        /// Why not.
        #[source]
        source: RegistryError,
    },
    /// Its layers did not get into the store.
    #[error("cannot pull {reference}")]
    Import {
        /// What was to be pulled.
        reference: String,
        /// Why not.
        #[source]
        source: ImportError,
    },
    /// The store cannot be written.
    #[error("cannot write to the store")]
    Io(#[source] io::Error),
}

impl PullError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Registry { source, .. } => source.hint().or_else(|| exceeded_hint(source)),
            Self::Import { source, .. } => import_hint(source),
            Self::Io(error) => space_hint(error),
        }
    }
}

impl Store {
    /// Pulls an image: asks the registry which it is, fetches the layers that are not here, and
    /// names it. What is complete is kept when something fails.
    ///
    /// # Errors
    /// When the registry, or the host, fails for good, or something is not what its digest says.
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

    /// Pulls an image for the record and under the names that the target says.
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

/// The same, where a limit is among the causes.
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

/// What the user can do about an import that failed.
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

/// How to raise a limit.
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
