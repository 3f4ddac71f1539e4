use std::sync::Arc;

use image_store::{LayerDescriptor, LayerRecord};
use oci_image::{Descriptor, Digest};
use oci_registry::{
    BlobBytes, BlobState, RegistryError, RepositoryBlob, UploadProgress, UploadSession,
};
use serde::{Deserialize, Serialize};

use super::spooled::Spooled;
use super::stoppable::Stoppable;
use super::{PushError, PushEvent, PushProgress, Work, mount_source};
use crate::blob::{Blob, CompressError, compress};

/// The way of a layer to a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LayerRoute {
    /// It was there.
    Present,
    /// It was mounted from another repository of the registry.
    Mounted,
    /// It was streamed from the registry that it was pulled from.
    Streamed,
    /// It was made anew from the store, compressed again.
    Rebuilt,
}

/// A layer that the destination has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedLayer {
    /// Diff ID of the layer.
    pub diff_id: Digest,
    /// Digest and length of the blob at the destination.
    pub blob: Descriptor,
    /// Media type of the blob.
    pub media_type: String,
    /// The way of the layer to the registry.
    pub route: LayerRoute,
}

impl PushedLayer {
    /// Returns the number of bytes that were uploaded; 0 unless it was streamed or rebuilt.
    pub(super) const fn uploaded_bytes(&self) -> u64 {
        match self.route {
            LayerRoute::Present | LayerRoute::Mounted => 0,
            LayerRoute::Streamed | LayerRoute::Rebuilt => self.blob.size_bytes,
        }
    }
}

/// The push of one layer.
pub(super) struct LayerPush {
    pub(super) work: Arc<Work>,
    pub(super) layer: LayerDescriptor,
    pub(super) record: LayerRecord,
}

/// Progress of an upload, as that of the push.
#[derive(Debug)]
struct LayerProgress {
    diff_id: Digest,
    progress: Arc<dyn PushProgress>,
}

impl UploadProgress for LayerProgress {
    fn position(&self, position_bytes: u64) {
        self.progress.event(&PushEvent::LayerPosition {
            diff_id: &self.diff_id,
            position_bytes,
        });
    }
}

impl LayerPush {
    /// Gets the layer to its destination by the cheapest way that there is.
    pub(super) async fn run(self) -> Result<PushedLayer, PushError> {
        // Nothing closes the semaphore; without a turn, the layer is pushed beside more others.
        let _turn = self.work.turns.acquire().await.ok();
        let blob = self.layer.blob;
        let from = mount_source(&self.layer, &self.work.reference);
        match self.find(&blob, from.as_deref()).await? {
            BlobState::Present => Ok(self.done(blob, LayerRoute::Present)),
            BlobState::Mounted => Ok(self.done(blob, LayerRoute::Mounted)),
            BlobState::Missing(session) => match self.stream(session).await? {
                Ok(()) => Ok(self.done(blob, LayerRoute::Streamed)),
                Err(reason) => self.rebuild(reason).await,
            },
        }
    }

    /// Streams the layer from its origin. Returns the reason if the origin does not give it; `None`
    /// if there is no origin.
    async fn stream(
        &self,
        session: Option<UploadSession>,
    ) -> Result<Result<(), Option<String>>, PushError> {
        let Some(name) = &self.layer.repository else {
            return Ok(Err(None));
        };
        let repository = match self.work.origins.connect(name).await {
            Ok(Some(repository)) => repository,
            Ok(None) => return Ok(Err(None)),
            Err(error) => return Ok(Err(Some(line(&error)))),
        };
        let source = RepositoryBlob::new(repository, self.layer.blob);
        match self
            .upload(&self.layer.blob, Arc::new(source), session)
            .await
        {
            Ok(()) => Ok(Ok(())),
            Err(error @ (RegistryError::Source { .. } | RegistryError::SourceDigest { .. })) => {
                Ok(Err(Some(line(&error))))
            }
            Err(error) => Err(self.work.failed(error)),
        }
    }

    /// Makes the layer's tar anew from the store, compresses and uploads it.
    async fn rebuild(&self, reason: Option<String>) -> Result<PushedLayer, PushError> {
        if let Some(blob) = self.remembered().await?
            && !matches!(self.find(&blob, None).await?, BlobState::Missing(_))
        {
            return Ok(self.done(blob, LayerRoute::Present));
        }
        self.work.progress.event(&PushEvent::LayerCompressing {
            diff_id: &self.layer.diff_id,
        });
        let Blob { file, descriptor } = self.compressed(reason).await?;
        self.remember(descriptor).await;
        if !matches!(self.find(&descriptor, None).await?, BlobState::Missing(_)) {
            return Ok(self.done(descriptor, LayerRoute::Present));
        }
        let source = Arc::new(Spooled::new(file, descriptor.size_bytes));
        let uploaded = self.upload(&descriptor, source, None).await;
        uploaded.map_err(|source| self.work.failed(source))?;
        Ok(self.done(descriptor, LayerRoute::Rebuilt))
    }

    /// Returns the blob that the layer was compressed to by an earlier push; `None` if that is not known.
    async fn remembered(&self) -> Result<Option<Descriptor>, PushError> {
        let (work, record) = (Arc::clone(&self.work), self.record.clone());
        let reading = move || work.store.compressed(&record, work.compression.name());
        let read = tokio::task::spawn_blocking(reading).await;
        read.map_err(|error| PushError::Store(error.into()))
    }

    /// Remembers the blob that the layer was compressed to. If that fails, the next push compresses it again.
    async fn remember(&self, blob: Descriptor) {
        let (work, record) = (Arc::clone(&self.work), self.record.clone());
        let writing = move || {
            let name = work.compression.name();
            work.store.remember_compressed(&record, name, &blob)
        };
        let _ = tokio::task::spawn_blocking(writing).await;
    }

    /// Compresses the layer to an unnamed file, on a thread of its own.
    async fn compressed(&self, origin: Option<String>) -> Result<Blob, PushError> {
        let layer = self.layer.diff_id;
        let tar = self.work.store.layer_tar(&self.record);
        let tar = tar.map_err(|source| PushError::Layer {
            reference: self.work.reference.familiar(),
            layer,
            origin,
            source,
        })?;
        let work = Arc::clone(&self.work);
        let (mut tar, _stop) = Stoppable::new(tar);
        let compressing = move || {
            let spool = work.store.layout.temporary();
            compress(&mut tar, work.compression, &spool)
        };
        let blob = tokio::task::spawn_blocking(compressing).await;
        let blob = blob.map_err(|error| PushError::Store(error.into()))?;
        blob.map_err(|error| {
            let (CompressError::Tar(source) | CompressError::File(source)) = error;
            PushError::Read { layer, source }
        })
    }

    async fn find(
        &self,
        blob: &Descriptor,
        mount_from: Option<&str>,
    ) -> Result<BlobState, PushError> {
        let found = self.work.destination.find_or_mount(blob, mount_from).await;
        found.map_err(|source| self.work.failed(source))
    }

    async fn upload(
        &self,
        blob: &Descriptor,
        source: Arc<dyn BlobBytes>,
        session: Option<UploadSession>,
    ) -> Result<(), RegistryError> {
        self.work.progress.event(&PushEvent::LayerStarted {
            diff_id: &self.layer.diff_id,
            size_bytes: blob.size_bytes,
        });
        let progress = LayerProgress {
            diff_id: self.layer.diff_id,
            progress: Arc::clone(&self.work.progress),
        };
        let destination = &self.work.destination;
        destination
            .upload(blob, source, session, Arc::new(progress))
            .await
    }

    fn done(&self, blob: Descriptor, route: LayerRoute) -> PushedLayer {
        self.work.progress.event(&PushEvent::LayerDone {
            diff_id: &self.layer.diff_id,
            route,
        });
        let media_type = if blob == self.layer.blob {
            self.layer.media_type.clone()
        } else {
            self.work.compression.media_type().to_owned()
        };
        PushedLayer {
            diff_id: self.layer.diff_id,
            blob,
            media_type,
            route,
        }
    }
}

/// Returns an error and its causes on one line.
fn line(error: &RegistryError) -> String {
    let mut line = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        line.push_str(&format!(": {error}"));
        cause = error.source();
    }
    line
}
