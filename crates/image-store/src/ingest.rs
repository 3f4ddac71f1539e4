//! From an image's checked documents to its artifacts and its record; the same for registries and
//! archives.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::thread::available_parallelism;

use oci_layers::{Exceeded, Limit, Limits};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinError, JoinSet, spawn_blocking};

use crate::archive::Archive;
use crate::digest::Digest;
use crate::image::{Image, Layer};
use crate::pipeline::{
    BodyReader, Budget, ConvertError, Converted, StopOnDrop, StopSignal, Stoppable, convert,
};
use crate::progress::{Event, LayerSize, Progress};
use crate::reference::Reference;
use crate::registry::{BlobSource, PARTS_IN_FLIGHT, Registry, RegistryError};
use crate::store::artifacts;
use crate::store::assemble::{self, AssembleError};
use crate::store::durable;
use crate::store::kept;
use crate::store::layout::{self, FORMAT_VERSION, Layout};
use crate::store::lock::{Lock, Mode};
use crate::store::origin::{Origin, OriginFile};
use crate::store::record::{ChainFile, ImageRecord, LayerRecord, ReferenceFile, StoredImage};
use crate::store::session::Session;
use crate::store::stamp::Trust;
use crate::store::used;

/// Most layers that are brought in at once.
const LAYERS_AT_ONCE_MAX: usize = 4;

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
        let mut records = self.layers(image).await?;
        let layers: Vec<LayerRecord> = image
            .layers
            .iter()
            .filter_map(|layer| records.get(&layer.diff_id).cloned())
            .collect();
        records.clear();
        self.progress.event(&Event::Merging {
            digest: &image.manifest_digest,
        });
        let chain = self.chain(&layers).await?;
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

    /// Every layer's record, once each is in the store; several at a time. The first failure stops
    /// them all.
    async fn layers(&self, image: &Image) -> Result<BTreeMap<Digest, LayerRecord>, ImportError> {
        let at_once = available_parallelism().map_or(1, usize::from) + 1;
        let permits = Arc::new(Semaphore::new(at_once.min(LAYERS_AT_ONCE_MAX)));
        let stop = StopOnDrop::default();
        let budget = Budget::new(&self.limits);
        let mut tasks = JoinSet::new();
        // The largest first: the small ones fill what time is left beside it.
        let mut largest_first: Vec<&Layer> = distinct(image).collect();
        largest_first.sort_by_key(|layer| Reverse(layer.blob.size_bytes));
        for layer in largest_first {
            let (ingest, layer) = (self.clone(), *layer);
            let (permits, signal) = (Arc::clone(&permits), stop.signal());
            let budget = budget.clone();
            tasks.spawn(async move {
                // A permit first: whoever holds a layer's lock must be able to go on.
                let _permit = permits.acquire_owned().await;
                ingest.layer(&layer, budget, signal).await
            });
        }
        let mut records = BTreeMap::new();
        while let Some(finished) = tasks.join_next().await {
            let record = unwind(finished)?;
            records.insert(record.diff_id, record);
        }
        for layer in disguised(image) {
            self.made(layer, budget.clone(), stop.signal()).await?;
            let path = self.session.path(&layout::layer_file(&layer.diff_id));
            let remove = spawn_blocking(move || fs_err::remove_file(path)).await;
            unwind(remove).map_err(ImportError::Io)?;
        }
        Ok(records)
    }

    /// One layer: what is here is taken, what another process makes is waited for.
    async fn layer(
        &self,
        layer: &Layer,
        budget: Budget,
        signal: StopSignal,
    ) -> Result<LayerRecord, ImportError> {
        let diff_id = &layer.diff_id;
        let present = Event::LayerPresent { diff_id };
        if let Some(record) = self.present(diff_id).await? {
            self.progress.event(&present);
            return Ok(record);
        }
        let path = self.layout.artifact_lock(diff_id);
        let lock = match Lock::try_take(&path, Mode::Exclusive).map_err(ImportError::Io)? {
            Some(lock) => lock,
            None => {
                self.progress.event(&Event::LayerWaiting { diff_id });
                Lock::take(&path, Mode::Exclusive)
                    .await
                    .map_err(ImportError::Io)?
            }
        };
        let _lock = lock.unlinked_at_end();
        if let Some(record) = self.present(diff_id).await? {
            self.progress.event(&present);
            return Ok(record);
        }
        self.progress.event(&Event::LayerStarted { diff_id });
        let record = self.make(layer, budget, signal).await?;
        self.progress.event(&Event::LayerDone { diff_id });
        Ok(record)
    }

    async fn present(&self, diff_id: &Digest) -> Result<Option<LayerRecord>, ImportError> {
        let (layout, diff_id, trust) = (self.layout.clone(), *diff_id, self.trust);
        let look = move || artifacts::present_layer(&layout, &diff_id, trust);
        unwind(spawn_blocking(look).await).map_err(ImportError::Io)
    }

    async fn make(
        &self,
        layer: &Layer,
        budget: Budget,
        signal: StopSignal,
    ) -> Result<LayerRecord, ImportError> {
        let made = self.made(layer, budget, signal).await?;
        if !made.notes.is_empty() {
            self.progress.event(&Event::LayerNotes {
                diff_id: &layer.diff_id,
                notes: &made.notes,
                total: made.notes_total,
            });
        }
        let record = made.record;
        let (this, published) = (self.clone(), record.clone());
        let publish = move || {
            let image = this.session.path(&published.erofs.file);
            artifacts::publish_layer(&this.layout, &this.session, &image, &published)
        };
        unwind(spawn_blocking(publish).await).map_err(ImportError::Io)?;
        Ok(record)
    }

    /// The layer's image in the session's directory.
    async fn made(
        &self,
        layer: &Layer,
        budget: Budget,
        signal: StopSignal,
    ) -> Result<Converted, ImportError> {
        let made = match &self.source {
            LayerSource::Archive(archive) => {
                let archive = Arc::clone(archive);
                let open = move |layer: &Layer| {
                    let blob = archive.open_blob(&layer.blob.digest);
                    blob.map_err(|error| ConvertError::Read {
                        source: io::Error::other(error),
                    })
                };
                self.convert(layer, budget, signal, open).await
            }
            LayerSource::Registry(registry) => self.download(registry, layer, budget, signal).await,
        };
        let digest = layer.blob.digest;
        made.map_err(|source| ImportError::Layer { digest, source })
    }

    /// Makes the layer from the first place that has its blob whole.
    async fn download(
        &self,
        registry: &Registry,
        layer: &Layer,
        budget: Budget,
        signal: StopSignal,
    ) -> Result<Converted, ConvertError> {
        let mut outcome = Err(ConvertError::Abandoned);
        for (index, source) in registry.sources(&layer.blob).into_iter().enumerate() {
            if let Err(error) = &outcome
                && index > 0
            {
                registry.going_on(&source.to_string(), error);
                let path = self.session.path(&layout::layer_file(&layer.diff_id));
                // What the last source left unfinished; there may be nothing.
                let _ = spawn_blocking(move || fs_err::remove_file(&path)).await;
            }
            outcome = self
                .download_from(source, layer, budget.clone(), signal.clone())
                .await;
            // Whoever gave up, or cannot write, is no better off with another source.
            let is_theirs = !matches!(
                outcome,
                Ok(_) | Err(ConvertError::Abandoned | ConvertError::Io(_) | ConvertError::Write(_))
            );
            if !is_theirs || signal.is_given() {
                break;
            }
        }
        outcome
    }

    async fn download_from(
        &self,
        source: BlobSource<'_>,
        layer: &Layer,
        budget: Budget,
        signal: StopSignal,
    ) -> Result<Converted, ConvertError> {
        let (sender, receiver) = mpsc::channel(PARTS_IN_FLIGHT);
        let open = move |_: &Layer| Ok(Box::new(BodyReader::new(receiver)) as Box<_>);
        let converting = self.convert(layer, budget, signal, open);
        let (downloaded, made) = tokio::join!(source.download(&layer.blob, sender), converting);
        match downloaded {
            // The thread that read gave up first, and knows why.
            Ok(()) | Err(RegistryError::Abandoned) => made,
            Err(error) => Err(ConvertError::Download(error)),
        }
    }

    /// Makes the layer's image in the session's directory, in a thread.
    async fn convert(
        &self,
        layer: &Layer,
        budget: Budget,
        signal: StopSignal,
        open: impl FnOnce(&Layer) -> Result<Box<dyn io::Read + Send>, ConvertError> + Send + 'static,
    ) -> Result<Converted, ConvertError> {
        let (layer, session, progress) = (
            *layer,
            Arc::clone(&self.session),
            Arc::clone(&self.progress),
        );
        let work = move || {
            let path = session.path(&layout::layer_file(&layer.diff_id));
            let count = |bytes| {
                progress.event(&Event::LayerBytes {
                    diff_id: &layer.diff_id,
                    bytes,
                })
            };
            let mut blob = Stoppable::new(open(&layer)?, signal);
            convert(&layer, &mut blob, &path, &budget, &count)
        };
        unwind(spawn_blocking(work).await)
    }

    async fn chain(&self, layers: &[LayerRecord]) -> Result<ChainFile, ImportError> {
        let key = layout::chain_key(layers.iter().map(|layer| &layer.diff_id));
        let lock = Lock::take(&self.layout.artifact_lock(&key), Mode::Exclusive).await;
        let _lock = lock.map_err(ImportError::Io)?.unlinked_at_end();
        let (this, layers) = (self.clone(), layers.to_vec());
        let work = move || {
            let Self {
                layout,
                session,
                trust,
                limits,
                ..
            } = &this;
            assemble::assemble(layout, session, &layers, *trust, limits)
        };
        Ok(unwind(spawn_blocking(work).await)?)
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

/// An image's layers, each once.
fn distinct(image: &Image) -> impl Iterator<Item = &Layer> {
    let layers = image.layers.iter().enumerate();
    layers
        .filter(|(index, layer)| {
            image.layers[..*index]
                .iter()
                .all(|earlier| earlier.diff_id != layer.diff_id)
        })
        .map(|(_, layer)| layer)
}

/// The layers whose diff ID is an earlier one's and whose blob is not: they must hold the same, and
/// nothing else would show that they do not.
fn disguised(image: &Image) -> impl Iterator<Item = &Layer> {
    let layers = image.layers.iter().enumerate();
    layers
        .filter(|(index, layer)| {
            let mut earlier = image.layers[..*index].iter();
            earlier
                .find(|earlier| earlier.diff_id == layer.diff_id)
                .is_some_and(|earlier| earlier.blob != layer.blob)
        })
        .map(|(_, layer)| layer)
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
