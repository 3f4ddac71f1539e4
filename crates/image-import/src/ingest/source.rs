use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;

use oci_image::Layer;
use oci_registry::{BlobSource, PARTS_IN_FLIGHT, RegistryError, Repository};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::layer_progress::LayerProgress;
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

/// A layer, the path of its artifact, and its progress.
#[derive(Debug, Clone, Copy)]
struct Work<'a> {
    layer: &'a Layer,
    path: &'a Path,
    progress: &'a LayerProgress,
}

impl Ingest {
    /// Writes the layer's artifact at `path`, from its source.
    pub(super) async fn convert(
        &self,
        layer: &Layer,
        path: &Path,
        bounds: Bounds,
    ) -> Result<Converted, ImportError> {
        let progress = LayerProgress::new(Arc::clone(&self.progress), layer.diff_id);
        let work = Work {
            layer,
            path,
            progress: &progress,
        };
        let made = match &self.source {
            LayerSource::Archive(archive) => {
                let archive = Arc::clone(archive);
                let open = move |layer: &Layer| {
                    let blob = archive.open_blob(&layer.blob.digest);
                    blob.map_err(|error| ConvertError::Read {
                        source: io::Error::other(error),
                    })
                };
                self.convert_blob(work, bounds, open).await
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
                self.convert_blob(work, bounds, open).await
            }
            LayerSource::Registry(repository) => self.download(repository, work, bounds).await,
        };
        let digest = layer.blob.digest;
        made.map_err(|source| ImportError::Layer { digest, source })
    }

    /// Writes the layer's artifact from the first source that delivers the whole blob.
    async fn download(
        &self,
        repository: &Repository,
        work: Work<'_>,
        bounds: Bounds,
    ) -> Result<Converted, ConvertError> {
        let blob = &work.layer.blob;
        let mut outcome = Err(ConvertError::Abandoned);
        let mut is_first = true;
        let mut sources = VecDeque::from(repository.sources(blob));
        while let Some(source) = sources.pop_front() {
            if let Err(error) = &outcome
                && !is_first
            {
                repository.going_on(&source.to_string(), error);
                let path = work.path.to_owned();
                // The previous source may have left an unfinished file.
                let _ = spawn_blocking(move || fs_err::remove_file(&path)).await;
            }
            is_first = false;
            outcome = self.download_from(&source, work, bounds.clone()).await;
            // A server may send wrong bytes for a range, and the right ones for the whole blob.
            if matches!(outcome, Err(ConvertError::BlobDigest { .. })) && source.uses_ranges(blob) {
                sources.push_front(source.in_one_stream());
            }
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
        source: &BlobSource,
        work: Work<'_>,
        bounds: Bounds,
    ) -> Result<Converted, ConvertError> {
        let (sender, receiver) = mpsc::channel(PARTS_IN_FLIGHT);
        let open = move |_: &Layer| Ok(Box::new(BodyReader::new(receiver)) as Box<_>);
        let converting = self.convert_blob(work, bounds, open);
        let downloading = source.download(&work.layer.blob, sender);
        let (downloaded, made) = tokio::join!(downloading, converting);
        match downloaded {
            // The reading thread stopped first, and its error is the cause.
            Ok(()) | Err(RegistryError::Abandoned) => made,
            Err(error) => Err(ConvertError::Download(error)),
        }
    }

    /// Writes the layer's artifact from its open blob, in a thread.
    async fn convert_blob(
        &self,
        work: Work<'_>,
        bounds: Bounds,
        open: impl FnOnce(&Layer) -> Result<Box<dyn io::Read + Send>, ConvertError> + Send + 'static,
    ) -> Result<Converted, ConvertError> {
        let (layer, path) = (*work.layer, work.path.to_owned());
        let count = work.progress.of_one_reading();
        // The session keeps its directory while the thread writes there.
        let session = Arc::clone(&self.session);
        let work = move || {
            let mut blob = Stoppable::new(open(&layer)?, bounds.signal);
            let converted = convert(&layer, &mut blob, &path, &bounds.budget, &count);
            drop(session);
            converted
        };
        unwind(spawn_blocking(work).await)
    }
}
