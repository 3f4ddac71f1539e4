use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::layout::FORMAT_VERSION;
use super::record::ImageRecord;
use crate::digest::Digest;
use crate::platform::Platform;

/// Where an image was last taken from, so that it can be taken from there again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A registry.
    Registry {
        /// The name that was pulled.
        reference: String,
        /// Over HTTP without TLS.
        plain_http: bool,
    },
    /// A directory or an archive.
    Path(PathBuf),
    /// An archive that a pipe brought.
    StandardInput,
}

/// What the store knows of an image's origin.
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

    /// Whether it says of this image what this version writes.
    pub(crate) fn is_for(&self, manifest: &Digest) -> bool {
        self.format_version == FORMAT_VERSION && self.manifest_digest == *manifest
    }
}
