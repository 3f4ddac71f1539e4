use image_export::{LayerRoute, PushEvent as Event};
use serde::{Deserialize, Serialize};

use super::LayerSize;

/// A step of a push. Layers are identified by their diff ID.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PushEvent {
    /// The push begins.
    Image {
        /// Name of the image at the registry.
        name: String,
        /// Layers of the image, the base layer first.
        layers: Vec<LayerSize>,
    },
    /// The layer is compressed, because no registry can give it.
    LayerCompressing {
        /// Diff ID of the layer.
        diff_id: String,
    },
    /// The layer's upload begins.
    LayerStarted {
        /// Diff ID of the layer.
        diff_id: String,
        /// Length of the blob, in bytes.
        size_bytes: u64,
    },
    /// The layer's upload has come so far. It goes back if the registry lost something.
    LayerPosition {
        /// Diff ID of the layer.
        diff_id: String,
        /// Number of bytes of the blob that are on their way.
        position_bytes: u64,
    },
    /// The registry has the layer.
    LayerDone {
        /// Diff ID of the layer.
        diff_id: String,
        /// The way of the layer to the registry.
        route: LayerRoute,
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
    /// The manifest is published.
    Done {
        /// Digest of the manifest.
        digest: String,
    },
}

impl PushEvent {
    /// Converts an event of `image-export`; `None` for one that is newer than this conversion.
    pub(crate) fn convert(event: &Event<'_>) -> Option<Self> {
        Some(match event {
            Event::Image { name, layers } => Self::Image {
                name: (*name).to_owned(),
                layers: layers
                    .iter()
                    .map(|layer| LayerSize {
                        diff_id: layer.diff_id.to_string(),
                        size_bytes: layer.size_bytes,
                    })
                    .collect(),
            },
            Event::LayerCompressing { diff_id } => Self::LayerCompressing {
                diff_id: diff_id.to_string(),
            },
            Event::LayerStarted {
                diff_id,
                size_bytes,
            } => Self::LayerStarted {
                diff_id: diff_id.to_string(),
                size_bytes: *size_bytes,
            },
            Event::LayerPosition {
                diff_id,
                position_bytes,
            } => Self::LayerPosition {
                diff_id: diff_id.to_string(),
                position_bytes: *position_bytes,
            },
            Event::LayerDone { diff_id, route } => Self::LayerDone {
                diff_id: diff_id.to_string(),
                route: *route,
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
            Event::Done { digest } => Self::Done {
                digest: digest.to_string(),
            },
            _ => return None,
        })
    }
}
