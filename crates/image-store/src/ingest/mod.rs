//! From an image's checked documents to its artifacts and its record; the same for registries and
//! archives.

mod layers;
mod source;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use oci_layers::{Exceeded, Limit, Limits};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::{JoinError, spawn_blocking};

use crate::archive::Archive;
use crate::digest::Digest;
use crate::image::Image;
use crate::pipeline::ConvertError;
use crate::progress::{Event, LayerSize, Progress};
use crate::reference::Reference;
use crate::registry::Registry;
use crate::store::assemble::{AssembleError, Assembled, assemble};
use crate::store::durable;
use crate::store::kept;
use crate::store::layout::{self, FORMAT_VERSION, Layout};
use crate::store::lock::{Lock, Mode};
use crate::store::origin::{Origin, OriginFile};
use crate::store::record::{ChainFile, ImageRecord, LayerRecord, ReferenceFile, StoredImage};
use crate::store::session::Session;
use crate::store::stamp::Trust;
use crate::store::used;
use layers::distinct;

/// Why an image whose documents are right did not get into the store. Finished layers stay; the
/// image is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The store cannot be written.
    #[error("cannot write to the store")]
    Io(#[source] io::Error),
    /// It is more than a limit allows.
    #[error("the image is too much")]
    Limit(#[from] Exceeded),
    /// A layer could not be brought in.
    #[error("layer {digest}")]
    Layer {
        /// The digest of its blob.
        digest: Digest,
        /// Why not.
        #[source]
        source: ConvertError,
    },
    /// The layers did not become a disk.
    #[error("cannot assemble the image")]
    Assemble(#[from] AssembleError),
}

/// Where layers come from.
#[derive(Debug, Clone)]
pub(crate) enum LayerSource {
    Registry(Arc<Registry>),
    Archive(Arc<Archive>),
}

/// One pull or load at work.
#[derive(Debug, Clone)]
pub(crate) struct Ingest {
    pub(crate) layout: Layout,
    pub(crate) session: Arc<Session>,
    pub(crate) source: LayerSource,
    /// Where the images are from, for the record.
    pub(crate) origin: Origin,
    pub(crate) trust: Trust,
    pub(crate) limits: Limits,
    pub(crate) progress: Arc<dyn Progress>,
}

/// What an image's layers make together, before it has a name.
struct Chain {
    layers: Vec<LayerRecord>,
    assembled: Assembled,
    /// Keeps others from making the same.
    _lock: Lock,
}

impl Ingest {
    /// Brings the image in under these names.
    pub(crate) async fn run(
        &self,
        image: &Image,
        names: &[Reference],
    ) -> Result<StoredImage, ImportError> {
        let layers_count = u64::try_from(image.layers.len()).unwrap_or(u64::MAX);
        self.limits.check(Limit::ImageLayers, layers_count)?;
        self.announce(image, names.first());
        // The merge needs what is in the layers, not that they are on the disk.
        let (written, records) = mpsc::unbounded_channel();
        let layers = self.layers(image, written);
        let ((), assembled) = tokio::try_join!(layers, self.assemble(image, records))?;
        let Some(assembled) = assembled else {
            return Err(ImportError::Io(io::Error::other("a layer is missing")));
        };
        let (layers, chain) = self.publish_chain(assembled).await?;
        let mut record = image_record(image, layers, chain);
        self.publish(&record, names).map_err(ImportError::Io)?;
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

    /// Merges the layers once each is written; the last may still be on their way to the disk.
    /// `None` when one of them never came, and whoever was to bring it says why.
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

    /// Gives what was assembled its names, now that all layers have theirs.
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

    /// Where the image is from, then its record, then the names that lead to it. Before all that the
    /// artifacts' names: one that was here may be from somebody who was killed before the sync.
    fn publish(&self, record: &ImageRecord, names: &[Reference]) -> io::Result<()> {
        let (layout, session) = (&self.layout, &*self.session);
        let manifest = record.manifest_digest;
        durable::sync_directory(&layout.artifacts())?;
        let origin = OriginFile::new(record, self.origin.clone());
        kept::write(layout, session, &layout.origin(&manifest), &origin)?;
        kept::write(layout, session, &layout.image(&manifest), record)?;
        used::note(layout, &manifest);
        for name in names {
            let file = ReferenceFile {
                reference: name.canonical().to_string(),
                manifest_digest: manifest,
            };
            kept::write(layout, session, &layout.reference(name), &file)?;
        }
        Ok(())
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

/// The outcome of a task that was not cancelled; its panic is this one's.
fn unwind<T>(finished: Result<T, JoinError>) -> T {
    match finished {
        Ok(outcome) => outcome,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
