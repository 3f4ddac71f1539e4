use std::fmt::Debug;
use std::time::Duration;

use oci_image::Digest;
use oci_layers::Note;

/// A receiver of progress events of a pull or a load. Several threads call it, so it must be quick.
pub trait Progress: Debug + Send + Sync {
    /// Receives an event.
    fn event(&self, event: &Event<'_>);
}

/// A step of a pull or a load. Layers are identified by their diff ID; a layer that an image lists
/// twice appears once.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A registry is asked for an image.
    Resolving {
        /// Name of the image.
        name: &'a str,
    },
    /// An image was found and its import begins.
    Image {
        /// Name of the image; its digest if it has no name.
        name: &'a str,
        /// Digest of the manifest.
        digest: &'a Digest,
        /// Layers of the image, the base layer first.
        layers: &'a [LayerSize],
    },
    /// The layer is already in the store.
    LayerPresent {
        /// Diff ID of the layer.
        diff_id: &'a Digest,
    },
    /// Another process imports the layer; this process waits for it.
    LayerWaiting {
        /// Diff ID of the layer.
        diff_id: &'a Digest,
    },
    /// The layer's import begins.
    LayerStarted {
        /// Diff ID of the layer.
        diff_id: &'a Digest,
    },
    /// More bytes of the layer's blob were read.
    LayerBytes {
        /// Diff ID of the layer.
        diff_id: &'a Digest,
        /// Number of bytes since the previous event.
        bytes: u64,
    },
    /// The layer was converted, but lacks something that its archive has.
    LayerNotes {
        /// Diff ID of the layer.
        diff_id: &'a Digest,
        /// Notes on the losses that were kept.
        notes: &'a [Note],
        /// Number of all notes, kept or not.
        total: u64,
    },
    /// The layer is in the store.
    LayerDone {
        /// Diff ID of the layer.
        diff_id: &'a Digest,
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
    /// All layers are written and their metadata is merged; the last ones may still be syncing.
    Merging {
        /// Digest of the image's manifest.
        digest: &'a Digest,
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
        digest: &'a Digest,
    },
}

/// A layer and the length of its blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerSize {
    /// Diff ID of the layer.
    pub diff_id: Digest,
    /// Length of the blob, in bytes.
    pub size_bytes: u64,
}

/// Ignores all events.
impl Progress for () {
    fn event(&self, _: &Event<'_>) {}
}
