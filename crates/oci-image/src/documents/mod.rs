//! The documents of an image, which are read before its layers.

mod candidates;
mod config;
mod history;
mod made;
mod manifest;
pub mod media_type;

pub use candidates::candidates;
pub use config::ConfigFile;
pub use config::ImageConfig;
pub use history::{HistoryEntry, history};
pub use made::make_manifest;
pub use manifest::ManifestError;
pub use manifest::{Descriptor, Document, IndexEntry, Manifest, RawDescriptor};

use std::sync::Arc;

use crate::Digest;
use crate::platform::Platform;

/// An image whose documents were read and checked, and whose layers were not.
#[derive(Debug, Clone)]
pub struct Image {
    /// Digest of the manifest.
    pub manifest_digest: Digest,
    /// Digest of the config.
    pub config_digest: Digest,
    /// Platform of the image.
    pub platform: Platform,
    /// Time of creation, as the config states it.
    pub created: Option<String>,
    /// Instructions for running the image.
    pub config: ImageConfig,
    /// Layers, the base layer first.
    pub layers: Vec<Layer>,
    /// The manifest, as it came.
    pub raw_manifest: Arc<[u8]>,
    /// The config blob, as it came.
    pub raw_config: Arc<[u8]>,
}

/// A layer, and the blob that contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layer {
    /// SHA-256 of the uncompressed layer.
    pub diff_id: Digest,
    /// Descriptor of the blob that contains the layer.
    pub blob: Descriptor,
}

impl Image {
    /// Combines a manifest with its config. A config that states no platform serves any.
    pub fn new(
        manifest_digest: Digest,
        manifest: &Manifest,
        config: ConfigFile,
        wanted: &Platform,
    ) -> Result<Self, ManifestError> {
        let (diff_ids, layers) = (config.diff_ids.len(), manifest.layers.len());
        if diff_ids != layers {
            return Err(ManifestError::LayerCount { diff_ids, layers });
        }
        let platform = config.platform.unwrap_or_else(|| wanted.clone());
        if wanted.rank(&platform).is_none() {
            return Err(ManifestError::Platform {
                wanted: wanted.clone(),
                available: vec![platform],
            });
        }
        let pairs = config.diff_ids.iter().zip(&manifest.layers);
        Ok(Self {
            manifest_digest,
            config_digest: manifest.config.digest,
            platform,
            created: config.created,
            config: config.config,
            layers: pairs
                .map(|(&diff_id, &blob)| Layer { diff_id, blob })
                .collect(),
            raw_manifest: Arc::clone(&manifest.raw),
            raw_config: config.raw,
        })
    }
}

/// Checks that the digest and the length of `bytes` are those of the descriptor.
pub fn check_document(
    what: &'static str,
    bytes: &[u8],
    descriptor: &Descriptor,
) -> Result<(), ManifestError> {
    let (actual, expected) = (Digest::compute(bytes), descriptor.digest);
    if actual != expected {
        return Err(ManifestError::WrongDigest {
            what,
            expected,
            actual,
        });
    }
    let actual_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if actual_bytes != descriptor.size_bytes {
        return Err(ManifestError::WrongSize {
            what,
            digest: expected,
            expected_bytes: descriptor.size_bytes,
            actual_bytes,
        });
    }
    Ok(())
}
