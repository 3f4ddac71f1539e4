use std::fmt::Debug;
use std::time::Duration;

use oci_image::Digest;

use super::layer::LayerRoute;

/// A layer and the length of its blob in the image's manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PushedLayerSize {
    /// Diff ID of the layer.
    pub diff_id: Digest,
    /// Length of the blob, in bytes.
    pub size_bytes: u64,
}

/// A step of a push. Layers are identified by their diff ID.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum PushEvent<'a> {
    /// The push begins.
    Image {
        /// Name of the image at the registry.
        name: &'a str,
        /// Layers, the base layer first.
        layers: &'a [PushedLayerSize],
    },
    /// The layer is not at the destination and is compressed, because no registry can give it.
    LayerCompressing {
        /// Diff ID of the layer.
        diff_id: &'a Digest,
    },
    /// The layer's upload begins.
    LayerStarted {
        /// Diff ID of the layer.
        diff_id: &'a Digest,
        /// Length of the blob, in bytes.
        size_bytes: u64,
    },
    /// The layer's upload has come so far. It goes back if the registry lost something.
    LayerPosition {
        /// Diff ID of the layer.
        diff_id: &'a Digest,
        /// Number of bytes of the blob that are on their way.
        position_bytes: u64,
    },
    /// The destination has the layer.
    LayerDone {
        /// Diff ID of the layer.
        diff_id: &'a Digest,
        /// The way of the layer to the registry.
        route: LayerRoute,
    },
    /// A registry failed temporarily and will be asked again.
    Retrying {
        /// Address or object that is requested.
        what: &'a str,
        /// Error of the last attempt.
        reason: &'a str,
        /// Time until the next attempt.
        after: Duration,
    },
    /// The user may want to change something. The same warning may come several times.
    Warning {
        /// A clause without a full stop.
        message: &'a str,
    },
    /// The manifest is published.
    Done {
        /// Digest of the manifest.
        digest: &'a Digest,
    },
}

/// A receiver of the events of a push. It must be quick.
pub trait PushProgress: Debug + Send + Sync {
    /// Receives an event.
    fn event(&self, event: &PushEvent<'_>);
}

/// Ignores all events.
impl PushProgress for () {
    fn event(&self, _: &PushEvent<'_>) {}
}
