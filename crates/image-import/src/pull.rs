use std::io;
use std::sync::Arc;

use diagnosis::{Diagnose, Diagnosis};
use image_store::origin::Origin;
use image_store::session::Session;
use image_store::stamp::VerifyMode;
use image_store::{Event, Progress, Store, StoredImage};
use oci_image::{Platform, Reference};
use oci_layers::{Limit, Limits};
use oci_registry::{
    Client, CredentialSource, Registries, RegistryError, RegistryLimits, Repository, Retry,
    RetryListener,
};

use crate::hints::{of_registry, of_source};
use crate::ingest::{ImportError, Ingest, LayerSource};

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
    pub registry_limits: RegistryLimits,
    /// Limits on the cost of the image.
    pub limits: Limits,
}

impl PullOptions {
    /// Returns the registry's limits, with an image's own limits on its documents.
    fn document_limits(&self) -> RegistryLimits {
        let indexes = self.limits.get(Limit::ImageIndexes);
        RegistryLimits {
            document_bytes: self.limits.get(Limit::ImageDocument),
            index_depth: usize::try_from(indexes).unwrap_or(usize::MAX),
            ..self.registry_limits.clone()
        }
    }
}

/// Retries of the registry client, as progress of the pull.
#[derive(Debug)]
struct ReportedRetries(Arc<dyn Progress>);

impl RetryListener for ReportedRetries {
    fn retrying(&self, retry: &Retry<'_>) {
        self.0.event(&Event::Retrying {
            what: retry.what,
            reason: retry.reason,
            after: retry.after,
        });
    }

    fn warning(&self, message: &str) {
        self.0.event(&Event::Warning { message });
    }
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

impl Diagnose for PullError {
    fn diagnosis(&self) -> Diagnosis {
        let of = |reference| Diagnosis::default().detail("name", reference);
        match self {
            Self::Registry { reference, source } => of(reference).caused_by(of_registry(source)),
            Self::Import { reference, source } => of(reference).caused_by(source.diagnosis()),
            Self::Io(source) => of_source(source),
        }
    }
}

/// Pulls an image: resolves it at the registry, downloads the layers that are not in the store,
/// and records its name. After a failure, completed layers stay in the store.
///
/// # Errors
/// If the registry or the host fails permanently, or if something does not match its digest.
pub async fn pull(
    store: &Store,
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
    pull_target(store, &target, options, progress).await
}

/// Pulls an image with the names and the origin of the target.
pub(crate) async fn pull_target(
    store: &Store,
    target: &Target<'_>,
    options: &PullOptions,
    progress: Arc<dyn Progress>,
) -> Result<StoredImage, PullError> {
    let session = Arc::new(Session::begin(&store.layout).await.map_err(PullError::Io)?);
    let outcome = pull_in(store, &session, target, options, progress).await;
    session.end().await;
    outcome
}

async fn pull_in(
    store: &Store,
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
    let limits = options.document_limits();
    let client = Client {
        plain_http: options.plain_http,
        credentials: &options.credentials,
        registries: &options.registries,
        limits: &limits,
        listener: Arc::new(ReportedRetries(Arc::clone(&progress))),
    };
    let repository = Repository::connect(&client, reference)
        .await
        .map_err(failed)?;
    let image = repository.image(reference, &wanted).await.map_err(failed)?;
    let ingest = Ingest {
        layout: store.layout.clone(),
        session: Arc::clone(session),
        source: LayerSource::Registry(Arc::new(repository)),
        origin: target.origin.clone(),
        repositories: Vec::new(),
        trust: VerifyMode::verifying(options.verify),
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
