use std::cmp::Reverse;
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::{JoinSet, spawn_blocking};

use super::source::Bounds;
use super::{ImportError, Ingest, unwind};
use crate::image::{Image, Layer};
use crate::pipeline::{Budget, ConvertError, Converted, StopOnDrop};
use crate::progress::Event;
use crate::store::artifacts;
use crate::store::layout;
use crate::store::lock::{Lock, Mode};
use crate::store::record::LayerRecord;

/// Most layers that are converted at once.
const LAYERS_AT_ONCE_MAX: usize = 4;
/// Most converted layers that wait for the disk at once: each has a file open and a thread.
const SYNCS_AT_ONCE_MAX: usize = 16;

/// How many layers may be at it at once. One that waits for the disk leaves the processors to the
/// next.
#[derive(Debug, Clone)]
struct Turns {
    converting: Arc<Semaphore>,
    syncing: Arc<Semaphore>,
}

impl Turns {
    fn new() -> Self {
        let at_once = available_parallelism().map_or(1, usize::from) + 1;
        Self {
            converting: Arc::new(Semaphore::new(at_once.min(LAYERS_AT_ONCE_MAX))),
            syncing: Arc::new(Semaphore::new(SYNCS_AT_ONCE_MAX)),
        }
    }
}

impl Ingest {
    /// Brings every layer into the store, several at a time; each one's record goes to `written` when
    /// its image can be read, before it is on the disk. The first failure stops them all.
    pub(super) async fn layers(
        &self,
        image: &Image,
        written: UnboundedSender<LayerRecord>,
    ) -> Result<(), ImportError> {
        let turns = Turns::new();
        let stop = StopOnDrop::default();
        let bounds = Bounds {
            budget: Budget::new(&self.limits),
            signal: stop.signal(),
        };
        let mut tasks = JoinSet::new();
        // The largest first: the small ones fill what time is left beside it.
        let mut largest_first: Vec<&Layer> = distinct(image).collect();
        largest_first.sort_by_key(|layer| Reverse(layer.blob.size_bytes));
        for layer in largest_first {
            let (ingest, layer) = (self.clone(), *layer);
            let (turns, written) = (turns.clone(), written.clone());
            let bounds = bounds.clone();
            tasks.spawn(async move { ingest.layer(&layer, bounds, turns, written).await });
        }
        drop(written);
        while let Some(finished) = tasks.join_next().await {
            unwind(finished)?;
        }
        for layer in disguised(image) {
            self.look_through(layer, bounds.clone()).await?;
        }
        Ok(())
    }

    /// One layer: what is here is taken, what another process makes is waited for.
    async fn layer(
        &self,
        layer: &Layer,
        bounds: Bounds,
        turns: Turns,
        written: UnboundedSender<LayerRecord>,
    ) -> Result<(), ImportError> {
        // A turn first: whoever holds a layer's lock must be able to go on.
        let turn = turns.converting.acquire_owned().await;
        if self.is_present(layer, &written).await? {
            return Ok(());
        }
        let _lock = self.lock(layer).await?;
        if self.is_present(layer, &written).await? {
            return Ok(());
        }
        let diff_id = &layer.diff_id;
        self.progress.event(&Event::LayerStarted { diff_id });
        let converted = self.make(layer, bounds).await?;
        // Whoever merges may have given up; this layer is good all the same.
        let _ = written.send(converted.record.clone());
        drop(written);
        let _sync = turns.syncing.acquire_owned().await;
        drop(turn);
        self.publish_layer(layer, converted).await?;
        self.progress.event(&Event::LayerDone { diff_id });
        Ok(())
    }

    /// Whether the layer is in the store. Its record has then gone to `written`.
    async fn is_present(
        &self,
        layer: &Layer,
        written: &UnboundedSender<LayerRecord>,
    ) -> Result<bool, ImportError> {
        let (layout, diff_id, trust) = (self.layout.clone(), layer.diff_id, self.trust);
        let look = move || artifacts::present_layer(&layout, &diff_id, trust);
        let present = unwind(spawn_blocking(look).await).map_err(ImportError::Io)?;
        let Some(record) = present else {
            return Ok(false);
        };
        let _ = written.send(record);
        self.progress.event(&Event::LayerPresent {
            diff_id: &layer.diff_id,
        });
        Ok(true)
    }

    async fn lock(&self, layer: &Layer) -> Result<Lock, ImportError> {
        let diff_id = &layer.diff_id;
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
        Ok(lock.unlinked_at_end())
    }

    /// The layer's image in the session's directory.
    async fn make(&self, layer: &Layer, bounds: Bounds) -> Result<Converted, ImportError> {
        let path = self.session.path(&layout::layer_file(&layer.diff_id));
        let converted = self.convert(layer, &path, bounds).await?;
        if !converted.notes.is_empty() {
            self.progress.event(&Event::LayerNotes {
                diff_id: &layer.diff_id,
                notes: &converted.notes,
                total: converted.notes_total,
            });
        }
        Ok(converted)
    }

    /// Syncs the layer's image and gives it its name.
    async fn publish_layer(&self, layer: &Layer, converted: Converted) -> Result<(), ImportError> {
        let Converted { image, record, .. } = converted;
        let synced = unwind(spawn_blocking(move || image.sync_all()).await);
        synced.map_err(|error| ImportError::Layer {
            digest: layer.blob.digest,
            source: ConvertError::Io(error),
        })?;
        let this = self.clone();
        let publish = move || {
            let image = this.session.path(&record.erofs.file);
            artifacts::publish_layer(&this.layout, &this.session, &image, &record)
        };
        unwind(spawn_blocking(publish).await).map_err(ImportError::Io)
    }

    /// Converts a layer only to see that it is what it says.
    async fn look_through(&self, layer: &Layer, bounds: Bounds) -> Result<(), ImportError> {
        // Not where the merge looks for layers.
        let file = format!("{}.again", layout::layer_file(&layer.diff_id));
        let path = self.session.path(&file);
        self.convert(layer, &path, bounds).await?;
        let remove = spawn_blocking(move || fs_err::remove_file(path)).await;
        unwind(remove).map_err(ImportError::Io)
    }
}

/// An image's layers, each once.
pub(super) fn distinct(image: &Image) -> impl Iterator<Item = &Layer> {
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
