use std::fmt::Debug;
use std::time::Duration;

use oci_layers::Note;

use crate::Digest;

/// Where a pull or a load tells how far it is. Called from several threads, so it must be quick.
pub trait Progress: Debug + Send + Sync {
    /// Something happened.
    fn event(&self, event: &Event<'_>);
}

/// One step of a pull or a load. Layers are named by their diff ID; one that an image lists twice
/// appears once.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An image was found and is about to be brought in.
    Image {
        /// Its name, or its digest when it has none.
        name: &'a str,
        /// The digest of its manifest.
        digest: &'a Digest,
        /// Its layers, base first.
        layers: &'a [LayerSize],
    },
    /// The layer was here already.
    LayerPresent {
        /// Which.
        diff_id: &'a Digest,
    },
    /// Another process is bringing the layer in; this one waits for it.
    LayerWaiting {
        /// Which.
        diff_id: &'a Digest,
    },
    /// The layer's bytes begin to come.
    LayerStarted {
        /// Which.
        diff_id: &'a Digest,
    },
    /// More of the layer's bytes, as stored at the source, were read.
    LayerBytes {
        /// Which.
        diff_id: &'a Digest,
        /// How many more, in bytes.
        bytes: u64,
    },
    /// The layer is made, and lacks something that its archive has.
    LayerNotes {
        /// Which.
        diff_id: &'a Digest,
        /// What it lacks, as far as that is kept.
        notes: &'a [Note],
        /// How many notes there were.
        total: u64,
    },
    /// The layer is in the store.
    LayerDone {
        /// Which.
        diff_id: &'a Digest,
    },
    /// A registry failed for the moment and is asked again.
    Retrying {
        /// What is asked for: an address.
        what: &'a str,
        /// Why.
        reason: &'a str,
        /// How long until then.
        after: Duration,
    },
    /// The layers are made; their metadata is merged, while the last may still be on their way to
    /// the disk.
    Merging {
        /// The digest of the image's manifest.
        digest: &'a Digest,
    },
    /// Artifacts are about to be digested.
    Verifying {
        /// Their length, in bytes.
        bytes: u64,
    },
    /// An artifact was digested.
    VerifiedBytes {
        /// Its length, in bytes.
        bytes: u64,
    },
    /// The image is in the store.
    Done {
        /// The digest of its manifest.
        digest: &'a Digest,
    },
}

/// A layer and how much there is to read of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerSize {
    /// Which.
    pub diff_id: Digest,
    /// Its length as stored at the source, in bytes.
    pub size_bytes: u64,
}

/// Tells nobody.
impl Progress for () {
    fn event(&self, _: &Event<'_>) {}
}
