//! A push: an image from the store to a registry, layer by layer, and its manifest last.

mod error;
mod event;
mod layer;
mod origins;
mod spooled;
mod stoppable;

use std::collections::BTreeSet;
use std::sync::Arc;

use image_store::{ImageDocuments, LayerDescriptor, Store, StoredImage};
use oci_image::{Descriptor, Digest, Reference, make_manifest, media_type};
use oci_registry::{
    BlobState, Client, CredentialSource, Destination, Registries, RegistryError, RegistryLimits,
    Retry, RetryListener,
};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

pub use error::PushError;
pub use event::{PushEvent, PushProgress, PushedLayerSize};
pub use layer::{LayerRoute, PushedLayer};

use crate::LayerCompression;
use layer::LayerPush;
use origins::Origins;

/// Most layers that are pushed at once. More would share the same line, and each one that is
/// compressed takes a processor.
const LAYERS_AT_ONCE: usize = 4;

/// Options of a push.
#[derive(Debug, Clone, Default)]
pub struct PushOptions {
    /// Compression of the layers that neither registry has.
    pub compression: LayerCompression,
    /// True to use HTTP without TLS. Registries on the loopback interface are used without TLS
    /// anyway, unless they answer TLS or certificate authorities are named.
    pub plain_http: bool,
    /// Source of the credentials.
    pub credentials: CredentialSource,
    /// Proxies, certificates, and mirrors of the registries that layers come from.
    pub registries: Registries,
    /// Timeouts, retries and size limits for registries.
    pub registry_limits: RegistryLimits,
}

/// An image that was pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// Name of the image at the registry.
    pub reference: Reference,
    /// Digest of the manifest at the registry. It is that of the stored image if all layers are.
    pub manifest_digest: Digest,
    /// Layers, the base layer first. A layer that is listed twice is there twice.
    pub layers: Vec<PushedLayer>,
    /// Number of bytes of layers that were uploaded.
    pub uploaded_bytes: u64,
}

/// Retries of the registry client, as progress of the push.
#[derive(Debug)]
struct ReportedRetries(Arc<dyn PushProgress>);

impl RetryListener for ReportedRetries {
    fn retrying(&self, retry: &Retry<'_>) {
        self.0.event(&PushEvent::Retrying {
            what: retry.what,
            reason: retry.reason,
            after: retry.after,
        });
    }

    fn warning(&self, message: &str) {
        self.0.event(&PushEvent::Warning { message });
    }
}

/// Pushes an image of the store to `reference`, which has a tag.
///
/// A layer that is at the destination already is not sent. Otherwise it is mounted from the
/// repository that it was pulled from, if that is in the same registry; or streamed from there; or
/// made anew from the store, where its bytes are compressed again and so have another digest. The
/// manifest is published when the registry has confirmed every layer and the config.
///
/// # Errors
/// If a layer is to be had from nowhere, or the registry refuses something or fails permanently.
/// Nothing is published then; layers that arrived whole need not be sent again.
pub async fn push(
    store: &Store,
    image: &StoredImage,
    reference: &Reference,
    options: &PushOptions,
    progress: Arc<dyn PushProgress>,
) -> Result<Pushed, PushError> {
    let name = reference.familiar();
    if reference.digest().is_some() {
        return Err(PushError::Digest { reference: name });
    }
    let lease = store.lease(image).map_err(PushError::Store)?;
    let documents = store
        .documents(&image.record)
        .map_err(|source| PushError::Documents { source })?;
    let failed = |source| PushError::Registry {
        reference: name.clone(),
        source,
    };
    let client = Client {
        plain_http: options.plain_http,
        credentials: &options.credentials,
        registries: &options.registries,
        limits: &options.registry_limits,
        listener: Arc::new(ReportedRetries(Arc::clone(&progress))),
    };
    let mountable: BTreeSet<String> = documents
        .layers
        .iter()
        .filter_map(|layer| mount_source(layer, reference))
        .collect();
    let mountable: Vec<String> = mountable.into_iter().collect();
    let destination = Destination::connect(&client, reference, &mountable).await;
    let work = Work {
        store: store.clone(),
        reference: reference.clone(),
        compression: options.compression,
        destination: destination.map_err(failed)?,
        origins: Origins::new(options, reference, Arc::clone(&progress)),
        turns: Semaphore::new(LAYERS_AT_ONCE),
        progress,
    };
    let pushed = Arc::new(work).run(image, &documents).await;
    drop(lease);
    pushed
}

/// Returns the repository that a layer can be mounted from: that of its origin, if it is in the
/// same registry.
fn mount_source(layer: &LayerDescriptor, reference: &Reference) -> Option<String> {
    let origin: Reference = layer.repository.as_deref()?.parse().ok()?;
    let is_other = origin.repository() != reference.repository();
    (origin.registry() == reference.registry() && is_other).then(|| origin.repository().to_owned())
}

/// A push in progress.
struct Work {
    store: Store,
    reference: Reference,
    compression: LayerCompression,
    destination: Destination,
    origins: Origins,
    turns: Semaphore,
    progress: Arc<dyn PushProgress>,
}

impl Work {
    async fn run(
        self: Arc<Self>,
        image: &StoredImage,
        documents: &ImageDocuments,
    ) -> Result<Pushed, PushError> {
        self.announce(documents);
        let mut pushing = JoinSet::new();
        let mut diff_ids = BTreeSet::new();
        for (layer, record) in documents.layers.iter().zip(&image.record.layers) {
            if diff_ids.insert(layer.diff_id) {
                let push = LayerPush {
                    work: Arc::clone(&self),
                    layer: layer.clone(),
                    record: record.clone(),
                };
                pushing.spawn(push.run());
            }
        }
        let mut done: Vec<PushedLayer> = Vec::new();
        while let Some(finished) = pushing.join_next().await {
            match finished {
                Ok(layer) => done.push(layer?),
                // A fault of msb is not one of the store. No layer is aborted while this waits.
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
        let uploaded_bytes = done.iter().map(PushedLayer::uploaded_bytes).sum();
        let layers: Vec<PushedLayer> = documents
            .layers
            .iter()
            .filter_map(|layer| done.iter().find(|it| it.diff_id == layer.diff_id).cloned())
            .collect();
        let (media_type, manifest) = manifest(documents, image, &layers);
        self.push_config(documents, image).await?;
        let version = self.reference.version();
        let put = self
            .destination
            .put_manifest(&version, media_type, &manifest);
        let manifest_digest = put.await.map_err(|source| self.failed(source))?;
        self.progress.event(&PushEvent::Done {
            digest: &manifest_digest,
        });
        Ok(Pushed {
            reference: self.reference.clone(),
            manifest_digest,
            layers,
            uploaded_bytes,
        })
    }

    fn announce(&self, documents: &ImageDocuments) {
        let layers: Vec<PushedLayerSize> = documents
            .layers
            .iter()
            .map(|layer| PushedLayerSize {
                diff_id: layer.diff_id,
                size_bytes: layer.blob.size_bytes,
            })
            .collect();
        self.progress.event(&PushEvent::Image {
            name: &self.reference.familiar(),
            layers: &layers,
        });
    }

    async fn push_config(
        &self,
        documents: &ImageDocuments,
        image: &StoredImage,
    ) -> Result<(), PushError> {
        let blob = Descriptor {
            digest: image.record.config_digest,
            size_bytes: u64::try_from(documents.config.len()).unwrap_or(u64::MAX),
        };
        let found = self.destination.find_or_mount(&blob, None).await;
        let BlobState::Missing(session) = found.map_err(|source| self.failed(source))? else {
            return Ok(());
        };
        let bytes = Arc::new(bytes::Bytes::from(documents.config.clone()));
        let upload = self.destination.upload(&blob, bytes, session, Arc::new(()));
        upload.await.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: RegistryError) -> PushError {
        PushError::Registry {
            reference: self.reference.familiar(),
            source,
        }
    }
}

/// Returns the manifest and its media type: the image's own if each layer has the blob that it
/// names, or else one of the new blobs.
fn manifest<'a>(
    documents: &'a ImageDocuments,
    image: &StoredImage,
    layers: &[PushedLayer],
) -> (&'a str, Vec<u8>) {
    let own = documents.layers.iter().map(|layer| layer.blob);
    if own.eq(layers.iter().map(|layer| layer.blob)) {
        let raw = documents.manifest.clone();
        return (&documents.manifest_media_type, raw);
    }
    let config = Descriptor {
        digest: image.record.config_digest,
        size_bytes: u64::try_from(documents.config.len()).unwrap_or(u64::MAX),
    };
    let layers = layers
        .iter()
        .map(|layer| (media_type::oci_layer(&layer.media_type), layer.blob));
    (media_type::OCI_MANIFEST, make_manifest(&config, layers))
}
