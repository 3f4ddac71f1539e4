use std::io;
use std::path::Path;
use std::sync::Arc;

use image_store::Event;
use oci_image::Layer;
use oci_registry::{BlobSource, PARTS_IN_FLIGHT, RegistryError, Repository};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::{ImportError, Ingest, LayerSource, unwind};
use crate::OpenBlob;
use crate::pipeline::{
    BodyReader, Budget, ConvertError, Converted, StopSignal, Stoppable, convert,
};

/// Limits of a conversion, and the signal that stops it.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    pub(super) budget: Budget,
    pub(super) signal: StopSignal,
}

impl Ingest {
    /// Writes the layer's artifact at `path`, from its source.
    pub(super) async fn convert(
        &self,
        layer: &Layer,
        path: &Path,
        bounds: Bounds,
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
                self.convert_blob(layer, path, bounds, open).await
            }
            LayerSource::Blobs(blobs) => {
                let blobs = Arc::clone(blobs);
                let open = move |layer: &Layer| {
                    let blob = blobs.get(&layer.blob.digest).ok_or_else(|| {
                        io::Error::new(io::ErrorKind::NotFound, "the store does not have it")
                    });
                    let blob = blob.and_then(OpenBlob::open);
                    blob.map_err(|source| ConvertError::Read { source })
                };
                self.convert_blob(layer, path, bounds, open).await
            }
            LayerSource::Registry(repository) => {
                self.download(repository, layer, path, bounds).await
            }
        };
        let digest = layer.blob.digest;
        made.map_err(|source| ImportError::Layer { digest, source })
    }

    /// Writes the layer's artifact from the first source that delivers the whole blob.
    async fn download(
        &self,
        repository: &Repository,
        layer: &Layer,
        path: &Path,
        bounds: Bounds,
    ) -> Result<Converted, ConvertError> {
        let mut outcome = Err(ConvertError::Abandoned);
        for (index, source) in repository.sources(&layer.blob).into_iter().enumerate() {
            if let Err(error) = &outcome
                && index > 0
            {
                repository.going_on(&source.to_string(), error);
                let path = path.to_owned();
                // The previous source may have left an unfinished file.
                let _ = spawn_blocking(move || fs_err::remove_file(&path)).await;
            }
            outcome = self
                .download_from(source, layer, path, bounds.clone())
                .await;
            // Another source does not help if the conversion was stopped or cannot write.
            let is_theirs = !matches!(
                outcome,
                Ok(_) | Err(ConvertError::Abandoned | ConvertError::Io(_) | ConvertError::Write(_))
            );
            if !is_theirs || bounds.signal.is_given() {
                break;
            }
        }
        outcome
    }

    async fn download_from(
        &self,
        source: BlobSource<'_>,
        layer: &Layer,
        path: &Path,
        bounds: Bounds,
    ) -> Result<Converted, ConvertError> {
        let (sender, receiver) = mpsc::channel(PARTS_IN_FLIGHT);
        let open = move |_: &Layer| Ok(Box::new(BodyReader::new(receiver)) as Box<_>);
        let converting = self.convert_blob(layer, path, bounds, open);
        let (downloaded, made) = tokio::join!(source.download(&layer.blob, sender), converting);
        match downloaded {
            // The reading thread stopped first, and its error is the cause.
            Ok(()) | Err(RegistryError::Abandoned) => made,
            Err(error) => Err(ConvertError::Download(error)),
        }
    }

    /// Writes the layer's artifact from its open blob, in a thread.
    async fn convert_blob(
        &self,
        layer: &Layer,
        path: &Path,
        bounds: Bounds,
        open: impl FnOnce(&Layer) -> Result<Box<dyn io::Read + Send>, ConvertError> + Send + 'static,
    ) -> Result<Converted, ConvertError> {
        let (layer, path, progress) = (*layer, path.to_owned(), Arc::clone(&self.progress));
        // The session keeps its directory while the thread writes there.
        let session = Arc::clone(&self.session);
        let work = move || {
            let count = |bytes| {
                progress.event(&Event::LayerBytes {
                    diff_id: &layer.diff_id,
                    bytes,
                })
            };
            let mut blob = Stoppable::new(open(&layer)?, bounds.signal);
            let converted = convert(&layer, &mut blob, &path, &bounds.budget, &count);
            drop(session);
            converted
        };
        unwind(spawn_blocking(work).await)
    }
}
