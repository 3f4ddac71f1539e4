//! The import of an image: from checked documents to artifacts and a record, for registries and
//! archives alike.

mod layer_progress;
mod layers;
mod publication;
mod source;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use diagnosis::{Diagnose, Diagnosis};
use image_store::layout::{self, FORMAT_VERSION, Layout};
use image_store::lock::{Lock, Mode};
use image_store::origin::{Origin, OriginFile};
use image_store::record::{ChainFile, ImageRecord, LayerRecord, StoredImage};
use image_store::session::Session;
use image_store::stamp::VerifyMode;
use image_store::{Event, LayerSize, Progress};
use layers::distinct;
use oci_image::{Digest, Image, Reference};
use oci_layers::{Exceeded, Limit, Limits};
use oci_registry::Repository;
use publication::Publication;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::{JoinError, spawn_blocking};

use crate::OpenBlob;
use crate::archive::Archive;
use crate::assemble::{AssembleError, Assembled, assemble};
use crate::hints::of_source;
use crate::pipeline::ConvertError;

/// An error while an image with valid documents is stored. Finished layers stay in the store; the
/// stored image does not change.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The store cannot be written.
    #[error("cannot write to the store")]
    Io(#[source] io::Error),
    /// The image exceeds a limit.
    #[error("the image exceeds a limit")]
    Limit(#[from] Exceeded),
    /// A layer cannot be stored.
    #[error("layer {digest}")]
    Layer {
        /// Digest of the layer's blob.
        digest: Digest,
        /// Cause reported by the conversion.
        #[source]
        source: ConvertError,
    },
    /// No disk can be assembled from the layers.
    #[error("cannot assemble the image")]
    Assemble(#[from] AssembleError),
}

impl Diagnose for ImportError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Io(source) => of_source(source),
            Self::Limit(source) => of_source(source),
            Self::Layer { source, .. } => source.diagnosis(),
            Self::Assemble(source) => source.diagnosis(),
        }
    }
}

/// Source of the layers' blobs.
#[derive(Debug, Clone)]
pub(crate) enum LayerSource {
    Registry(Arc<Repository>),
    Archive(Arc<Archive>),
    /// Blobs by their digests.
    Blobs(Arc<BTreeMap<Digest, OpenBlob>>),
}

impl LayerSource {
    /// Returns false if the source certainly lacks the blob.
    fn may_have(&self, digest: &Digest) -> bool {
        match self {
            Self::Registry(_) | Self::Archive(_) => true,
            Self::Blobs(blobs) => blobs.contains_key(digest),
        }
    }
}

/// A pull or a load in progress.
#[derive(Debug, Clone)]
pub(crate) struct Ingest {
    pub(crate) layout: Layout,
    pub(crate) session: Arc<Session>,
    pub(crate) source: LayerSource,
    /// Origin of the images, for their records.
    pub(crate) origin: Origin,
    /// Repository of each layer; empty if the origin says it for all layers.
    pub(crate) repositories: Vec<Option<String>>,
    pub(crate) trust: VerifyMode,
    pub(crate) limits: Limits,
    pub(crate) progress: Arc<dyn Progress>,
}

/// A chain of layers that was assembled, but has no names in the store yet.
struct Chain {
    layers: Vec<LayerRecord>,
    assembled: Assembled,
    /// Lock that keeps other processes from assembling the same chain.
    _lock: Lock,
}

impl Ingest {
    /// Stores the image under these names.
    pub(crate) async fn run(
        &self,
        image: &Image,
        names: &[Reference],
    ) -> Result<StoredImage, ImportError> {
        let layers_count = u64::try_from(image.layers.len()).unwrap_or(u64::MAX);
        self.limits.check(Limit::ImageLayers, layers_count)?;
        self.announce(image, names.first());
        // The merge reads the layers; they need not be synced for it.
        let (written, records) = mpsc::unbounded_channel();
        let layers = self.layers(image, written);
        let ((), assembled) = tokio::try_join!(layers, self.assemble(image, records))?;
        let Some(assembled) = assembled else {
            return Err(ImportError::Io(io::Error::other("a layer is missing")));
        };
        let (layers, chain) = self.publish_chain(assembled).await?;
        let mut record = image_record(image, layers, chain);
        self.publish(image, &record, names).await?;
        self.progress.event(&Event::Done {
            digest: &image.manifest_digest,
        });
        record.references = names
            .iter()
            .map(|name| name.canonical().to_string())
            .collect();
        Ok(StoredImage::new(&self.layout, record))
    }

    fn announce(&self, image: &Image, name: Option<&Reference>) {
        let digest = &image.manifest_digest;
        let layers: Vec<LayerSize> = distinct(image)
            .map(|layer| LayerSize {
                diff_id: layer.diff_id,
                size_bytes: layer.blob.size_bytes,
            })
            .collect();
        let name = name.map_or_else(|| digest.to_string(), Reference::familiar);
        self.progress.event(&Event::Image {
            name: &name,
            digest,
            layers: &layers,
        });
    }

    /// Merges the layers when all are written; the last ones may still be syncing. Returns `None`
    /// if a record was not received; the task of that layer reports the cause.
    async fn assemble(
        &self,
        image: &Image,
        mut records: UnboundedReceiver<LayerRecord>,
    ) -> Result<Option<Chain>, ImportError> {
        let mut written = BTreeMap::new();
        while let Some(record) = records.recv().await {
            written.insert(record.diff_id, record);
        }
        let layers = image.layers.iter();
        let layers = layers.map(|layer| written.get(&layer.diff_id).cloned());
        let Some(layers) = layers.collect::<Option<Vec<LayerRecord>>>() else {
            return Ok(None);
        };
        self.progress.event(&Event::Merging {
            digest: &image.manifest_digest,
        });
        let key = layout::chain_key(layers.iter().map(|layer| &layer.diff_id));
        let lock = Lock::take(&self.layout.artifact_lock(&key), Mode::Exclusive).await;
        let lock = lock.map_err(ImportError::Io)?.unlinked_at_end();
        let this = self.clone();
        let work = move || {
            let Self {
                layout,
                session,
                trust,
                limits,
                ..
            } = &this;
            let assembled = assemble(layout, session, &layers, *trust, limits)?;
            Ok::<_, AssembleError>(Chain {
                layers,
                assembled,
                _lock: lock,
            })
        };
        Ok(Some(unwind(spawn_blocking(work).await)?))
    }

    /// Renames the assembled files to their final names; those of all layers come before.
    async fn publish_chain(
        &self,
        chain: Chain,
    ) -> Result<(Vec<LayerRecord>, ChainFile), ImportError> {
        let (layout, session) = (self.layout.clone(), Arc::clone(&self.session));
        let work = move || {
            let file = chain.assembled.publish(&layout, &session)?;
            Ok((chain.layers, file))
        };
        unwind(spawn_blocking(work).await).map_err(ImportError::Io)
    }

    /// Gives the image its names in the store.
    async fn publish(
        &self,
        image: &Image,
        record: &ImageRecord,
        names: &[Reference],
    ) -> Result<(), ImportError> {
        let mut origin = OriginFile::new(record, self.origin.clone());
        origin.repositories.clone_from(&self.repositories);
        let publication = Publication {
            layout: self.layout.clone(),
            session: Arc::clone(&self.session),
            raw_manifest: Arc::clone(&image.raw_manifest),
            raw_config: Arc::clone(&image.raw_config),
            origin,
            record: record.clone(),
            names: names.to_vec(),
        };
        // It syncs files, which must not keep the executor's other tasks waiting.
        unwind(spawn_blocking(move || publication.write()).await).map_err(ImportError::Io)
    }
}

fn image_record(image: &Image, layers: Vec<LayerRecord>, chain: ChainFile) -> ImageRecord {
    let distinct: BTreeMap<Digest, u64> = layers
        .iter()
        .map(|layer| (layer.diff_id, layer.erofs.size_bytes))
        .collect();
    let layers_bytes: u64 = distinct.values().sum();
    ImageRecord {
        format_version: FORMAT_VERSION,
        references: Vec::new(),
        manifest_digest: image.manifest_digest,
        config_digest: image.config_digest,
        has_documents: true,
        platform: image.platform.clone(),
        created: image.created.clone(),
        config: image.config.clone(),
        chain_key: chain.chain_key,
        layers,
        size_bytes: layers_bytes + chain.fsmeta.size_bytes + chain.vmdk.size_bytes,
        fsmeta: chain.fsmeta,
        vmdk: chain.vmdk,
    }
}

/// Returns the result of a task that was not cancelled; a panic of the task continues here.
fn unwind<T>(finished: Result<T, JoinError>) -> T {
    match finished {
        Ok(outcome) => outcome,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
