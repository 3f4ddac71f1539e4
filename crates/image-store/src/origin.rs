//! The source of each image, from which it can be fetched again.

use std::path::PathBuf;

use oci_image::{Digest, Platform, Reference};
use serde::{Deserialize, Serialize};

use super::layout::FORMAT_VERSION;
use super::record::ImageRecord;

/// Source that an image was last imported from, so that it can be imported again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The image came from a registry.
    Registry {
        /// Name that was pulled.
        reference: String,
        /// True if HTTP was used without TLS.
        plain_http: bool,
    },
    /// The image came from a directory or an archive.
    Path(PathBuf),
    /// The image came from an archive on standard input.
    StandardInput,
    /// The image was made in this store, of a further layer on another image.
    Derived {
        /// Digest of the other image's manifest. That image may no longer exist.
        parent: Digest,
    },
}

/// Record of an image's origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginFile {
    /// Version of the store's format.
    pub format_version: u32,
    /// Digest of the image's manifest.
    pub manifest_digest: Digest,
    /// Platform that was chosen.
    pub platform: Platform,
    /// Source of the image.
    pub origin: Origin,
    /// Repository of each layer, the base layer first; empty if the origin says it for all layers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repositories: Vec<Option<String>>,
}

impl OriginFile {
    /// Returns the file of an image that came from `origin`.
    pub fn new(image: &ImageRecord, origin: Origin) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            manifest_digest: image.manifest_digest,
            platform: image.platform.clone(),
            origin,
            repositories: Vec::new(),
        }
    }

    /// Returns the repository that has the layer of this index, such as
    /// `docker.io/library/debian`; `None` if the layer was not pulled.
    pub fn repository_of(&self, layer: usize) -> Option<String> {
        if let Some(repository) = self.repositories.get(layer) {
            return repository.clone();
        }
        let Origin::Registry { reference, .. } = &self.origin else {
            return None;
        };
        let reference: Reference = reference.parse().ok()?;
        Some(format!(
            "{}/{}",
            reference.registry(),
            reference.repository()
        ))
    }

    /// Returns true if the record is for this image and in this format version.
    pub fn is_for(&self, manifest: &Digest) -> bool {
        self.format_version == FORMAT_VERSION && self.manifest_digest == *manifest
    }
}
