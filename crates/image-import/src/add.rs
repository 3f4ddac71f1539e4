use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use diagnosis::{Diagnose, Diagnosis};
use image_store::origin::Origin;
use image_store::session::Session;
use image_store::stamp::VerifyMode;
use image_store::{LayerDescriptor, Progress, Store, StoredImage};
use oci_image::{
    ConfigFile, Descriptor, Digest, Document, Image, ManifestError, Platform, Reference,
    make_manifest, media_type,
};
use oci_layers::{Exceeded, Limit, Limits};

use crate::OpenBlob;
use crate::hints::of_source;
use crate::ingest::{ImportError, Ingest, LayerSource};

/// An image to add to the store: a config, and layers that the store has or that are given.
#[derive(Debug, Clone)]
pub struct NewImage {
    /// Config, whose bytes are kept. Its diff IDs are those of `layers`.
    pub config: Vec<u8>,
    /// Layers, the base layer first. Those of another image come from
    /// [`Store::documents`](image_store::Store::documents).
    pub layers: Vec<LayerDescriptor>,
    /// The blobs of the layers that the store lacks, by the digest of the blob.
    pub blobs: BTreeMap<Digest, OpenBlob>,
    /// Names that the image gets; a name of another image moves to this one.
    pub names: Vec<Reference>,
    /// Source of the image, for its record.
    pub origin: Origin,
}

/// An error while an image is added to the store. The store's images are then unchanged.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// The config is not valid, or does not fit the layers.
    #[error("cannot store the image")]
    Document(#[from] ManifestError),
    /// The config exceeds a limit.
    #[error("the image exceeds a limit")]
    Limit(#[from] Exceeded),
    /// A layer cannot be stored, or is neither in the store nor given.
    #[error("cannot store the image")]
    Import(#[source] Box<ImportError>),
    /// The store cannot be written.
    #[error("cannot write to the store")]
    Io(#[from] io::Error),
}

impl Diagnose for AddError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Document(source) => Diagnosis::of_foreign(source),
            Self::Limit(source) => of_source(source),
            Self::Import(source) => source.diagnosis(),
            Self::Io(source) => of_source(source),
        }
    }
}

/// Adds an image to the store, as if it had been pulled: with a manifest of OCI's form that is made
/// of the config and the layers, sharing the layers that are there. The same config and layers give
/// the same manifest, so the same image.
///
/// # Errors
/// If the config does not fit the layers, a layer is neither in the store nor given or does not
/// match its digests, or the store cannot be written.
pub async fn add(
    store: &Store,
    new: &NewImage,
    limits: &Limits,
    progress: Arc<dyn Progress>,
) -> Result<StoredImage, AddError> {
    let image = checked(new, limits)?;
    let session = Arc::new(Session::begin(&store.layout).await?);
    let ingest = Ingest {
        layout: store.layout.clone(),
        session: Arc::clone(&session),
        source: LayerSource::Blobs(Arc::new(new.blobs.clone())),
        origin: new.origin.clone(),
        repositories: new
            .layers
            .iter()
            .map(|layer| layer.repository.clone())
            .collect(),
        trust: VerifyMode::Stamp,
        limits: limits.clone(),
        progress,
    };
    let outcome = ingest.run(&image, &new.names).await;
    drop(ingest);
    session.end().await;
    outcome.map_err(|error| AddError::Import(Box::new(error)))
}

/// Returns the image with its manifest.
fn checked(new: &NewImage, limits: &Limits) -> Result<Image, AddError> {
    let size_bytes = u64::try_from(new.config.len()).unwrap_or(u64::MAX);
    limits.check(Limit::ImageDocument, size_bytes)?;
    let config = ConfigFile::parse(&new.config)?;
    if let Some((&expected, layer)) = config
        .diff_ids
        .iter()
        .zip(&new.layers)
        .find(|(diff_id, layer)| **diff_id != layer.diff_id)
    {
        let (what, actual) = ("layer", layer.diff_id);
        return Err(AddError::Document(ManifestError::WrongDigest {
            what,
            expected,
            actual,
        }));
    }
    let descriptor = Descriptor {
        digest: Digest::compute(&new.config),
        size_bytes,
    };
    let layers = new.layers.iter();
    let layers = layers.map(|layer| (media_type::oci_layer(&layer.media_type), layer.blob));
    let raw = make_manifest(&descriptor, layers);
    let Document::Manifest(manifest) = Document::parse(&raw, None)? else {
        unreachable!("a made manifest is no index");
    };
    let platform = config.platform.clone().unwrap_or_else(Platform::host);
    Ok(Image::new(
        Digest::compute(&raw),
        &manifest,
        config,
        &platform,
    )?)
}
