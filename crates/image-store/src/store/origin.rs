use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::layout::FORMAT_VERSION;
use super::record::ImageRecord;
use crate::digest::Digest;
use crate::platform::Platform;

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
}

/// Record of an image's origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OriginFile {
    pub(crate) format_version: u32,
    pub(crate) manifest_digest: Digest,
    pub(crate) platform: Platform,
    pub(crate) origin: Origin,
}

impl OriginFile {
    pub(crate) fn new(image: &ImageRecord, origin: Origin) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            manifest_digest: image.manifest_digest,
            platform: image.platform.clone(),
            origin,
        }
    }

    /// Returns true if the record is for this image and in this format version.
    pub(crate) fn is_for(&self, manifest: &Digest) -> bool {
        self.format_version == FORMAT_VERSION && self.manifest_digest == *manifest
    }
}
