use std::cmp::Reverse;
use std::sync::Arc;
use std::thread::available_parallelism;

use image_store::lock::{Lock, Mode};
use image_store::record::{LayerFile, LayerRecord};
use image_store::{Event, artifacts, layout, tree};
use oci_image::{Image, Layer};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::{JoinSet, spawn_blocking};

use super::source::Bounds;
use super::{ImportError, Ingest, unwind};
use crate::pipeline::{Budget, ConvertError, Converted, StopOnDrop, outline_path};

/// Most layers that are converted at the same time.
const LAYERS_AT_ONCE_MAX: usize = 4;
/// Most converted layers that are synced at the same time: each has an open file and a thread.
const SYNCS_AT_ONCE_MAX: usize = 16;

/// Limits on concurrent layers. A layer that waits for the disk leaves the processors to the next.
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
    /// Stores every layer, several at a time. A layer's record is sent to `written` when its
    /// artifact can be read, before it is synced. The first failure stops all.
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
        // The largest layer comes first; the small ones fill the time beside it.
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
        for layer in disguised(image).filter(|layer| self.source.may_have(&layer.blob.digest)) {
            self.look_through(layer, bounds.clone()).await?;
        }
        Ok(())
    }

    /// Stores one layer: uses it if it is in the store, and waits if another process makes it.
    async fn layer(
        &self,
        layer: &Layer,
        bounds: Bounds,
        turns: Turns,
        written: UnboundedSender<LayerRecord>,
    ) -> Result<(), ImportError> {
        // A turn comes before the lock, so that the holder of a layer's lock can always continue.
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
        // The merge may have ended with an error; this layer is usable all the same.
        let _ = written.send(converted.record.clone());
        drop(written);
        let _sync = turns.syncing.acquire_owned().await;
        drop(turn);
        self.publish_layer(layer, converted).await?;
        self.progress.event(&Event::LayerDone { diff_id });
        Ok(())
    }

    /// Returns true if the layer is in the store, after sending its record to `written`.
    async fn is_present(
        &self,
        layer: &Layer,
        written: &UnboundedSender<LayerRecord>,
    ) -> Result<bool, ImportError> {
        let (layout, diff_id, trust) = (self.layout.clone(), layer.diff_id, self.trust);
        let look = move || artifacts::present_layer(&layout, &diff_id, trust);
        let present = unwind(spawn_blocking(look).await).map_err(ImportError::Io)?;
        // A layer without an outline is made again, so that its tar can be given back.
        let has_outline =
            |file: &LayerFile| file.outline.is_some() || !self.source.may_have(&layer.blob.digest);
        let Some(file) = present.filter(has_outline) else {
            return Ok(false);
        };
        let _ = written.send(file.layer);
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

    /// Writes the layer's artifact to the session's directory.
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

    /// Syncs the layer's artifact and renames it to its final name.
    async fn publish_layer(&self, layer: &Layer, converted: Converted) -> Result<(), ImportError> {
        let Converted {
            image,
            tree,
            record,
            outline,
            outline_record,
            ..
        } = converted;
        let files = [tree, outline, image];
        let sync = move || files.iter().try_for_each(fs_err::File::sync_all);
        let synced = unwind(spawn_blocking(sync).await);
        synced.map_err(|error| ImportError::Layer {
            digest: layer.blob.digest,
            source: ConvertError::Io(error),
        })?;
        let this = self.clone();
        let publish = move || {
            let image = this.session.path(&record.erofs.file);
            let outline = outline_path(&image);
            artifacts::publish_layer(
                &this.layout,
                &this.session,
                (&image, &record),
                (&outline, &outline_record),
            )
        };
        unwind(spawn_blocking(publish).await).map_err(ImportError::Io)
    }

    /// Converts a layer only to verify that its content matches its diff ID.
    async fn look_through(&self, layer: &Layer, bounds: Bounds) -> Result<(), ImportError> {
        // The name differs from the one by which the merge opens layers.
        let file = format!("{}.again", layout::layer_file(&layer.diff_id));
        let path = self.session.path(&file);
        self.convert(layer, &path, bounds).await?;
        let remove = move || {
            fs_err::remove_file(outline_path(&path))?;
            fs_err::remove_file(tree::path(&path))?;
            fs_err::remove_file(path)
        };
        unwind(spawn_blocking(remove).await).map_err(ImportError::Io)
    }
}

/// Returns the distinct layers of an image.
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

/// Returns the layers that share their diff ID with an earlier layer, but not the blob. Their
/// content must be the same, and nothing else would check it.
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
