use image_store::Event;
use serde::{Deserialize, Serialize};

/// A step of a pull or a load. Layers are identified by their diff ID.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PullEvent {
    /// A registry is asked for the image.
    Resolving {
        /// Name of the image.
        name: String,
    },
    /// An image was found and its import begins.
    Image {
        /// Name of the image; its digest if it has no name.
        name: String,
        /// Digest of the manifest.
        digest: String,
        /// Layers of the image, the base layer first.
        layers: Vec<LayerSize>,
    },
    /// The layer is already in the store.
    LayerPresent {
        /// Diff ID of the layer.
        diff_id: String,
    },
    /// Another process imports the layer; this one waits for it.
    LayerWaiting {
        /// Diff ID of the layer.
        diff_id: String,
    },
    /// The layer's import begins.
    LayerStarted {
        /// Diff ID of the layer.
        diff_id: String,
    },
    /// More bytes of the layer's blob were read.
    LayerBytes {
        /// Diff ID of the layer.
        diff_id: String,
        /// Number of bytes since the layer's last event.
        bytes: u64,
    },
    /// The layer was converted, but lacks something that its archive has.
    LayerNotes {
        /// Diff ID of the layer.
        diff_id: String,
        /// Notes on the losses that were kept.
        notes: Vec<String>,
        /// Number of all notes, kept or not.
        total: u64,
    },
    /// The layer is in the store.
    LayerDone {
        /// Diff ID of the layer.
        diff_id: String,
    },
    /// A registry failed temporarily and will be asked again.
    Retrying {
        /// Address or object that is requested.
        what: String,
        /// Error of the last attempt.
        reason: String,
        /// Time until the next attempt, in ms.
        after_ms: u64,
    },
    /// All layers are written and their metadata is merged.
    Merging {
        /// Digest of the image's manifest.
        digest: String,
    },
    /// The verification of artifacts begins.
    Verifying {
        /// Length of all artifacts, in bytes.
        bytes: u64,
    },
    /// An artifact was verified.
    VerifiedBytes {
        /// Length of the artifact, in bytes.
        bytes: u64,
    },
    /// The image is in the store.
    Done {
        /// Digest of the image's manifest.
        digest: String,
    },
}

/// A layer and the length of its blob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LayerSize {
    /// Diff ID of the layer.
    pub diff_id: String,
    /// Length of the blob, in bytes.
    pub size_bytes: u64,
}

impl PullEvent {
    /// Converts an event of `image-store`; `None` for one that is newer than this conversion.
    pub fn convert(event: &Event<'_>) -> Option<Self> {
        let diff_id = |digest: &oci_image::Digest| digest.to_string();
        Some(match event {
            Event::Resolving { name } => Self::Resolving {
                name: (*name).to_owned(),
            },
            Event::Image {
                name,
                digest,
                layers,
            } => Self::Image {
                name: (*name).to_owned(),
                digest: digest.to_string(),
                layers: layers.iter().map(LayerSize::convert).collect(),
            },
            Event::LayerPresent { diff_id: layer } => Self::LayerPresent {
                diff_id: diff_id(layer),
            },
            Event::LayerWaiting { diff_id: layer } => Self::LayerWaiting {
                diff_id: diff_id(layer),
            },
            Event::LayerStarted { diff_id: layer } => Self::LayerStarted {
                diff_id: diff_id(layer),
            },
            Event::LayerBytes {
                diff_id: layer,
                bytes,
            } => Self::LayerBytes {
                diff_id: diff_id(layer),
                bytes: *bytes,
            },
            Event::LayerNotes {
                diff_id: layer,
                notes,
                total,
            } => Self::LayerNotes {
                diff_id: diff_id(layer),
                notes: notes.iter().map(ToString::to_string).collect(),
                total: *total,
            },
            Event::LayerDone { diff_id: layer } => Self::LayerDone {
                diff_id: diff_id(layer),
            },
            Event::Retrying {
                what,
                reason,
                after,
            } => Self::Retrying {
                what: (*what).to_owned(),
                reason: (*reason).to_owned(),
                after_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
            },
            Event::Merging { digest } => Self::Merging {
                digest: digest.to_string(),
            },
            Event::Verifying { bytes } => Self::Verifying { bytes: *bytes },
            Event::VerifiedBytes { bytes } => Self::VerifiedBytes { bytes: *bytes },
            Event::Done { digest } => Self::Done {
                digest: digest.to_string(),
            },
            _ => return None,
        })
    }
}

impl LayerSize {
    fn convert(layer: &image_store::LayerSize) -> Self {
        Self {
            diff_id: layer.diff_id.to_string(),
            size_bytes: layer.size_bytes,
        }
    }
}
