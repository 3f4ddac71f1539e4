//! OCI layers: tar streams become trees, and trees become an image.
//!
//! [`read_layer`] reads one layer's tar once, from start to end. File content goes to a
//! [`DataSink`](fstree::DataSink) while it streams by, and the metadata becomes a
//! [`Tree`](fstree::Tree). The layer's changes to the layers below it (whiteouts, opaque
//! directories) are stored in that tree as the xattrs of [`markers`], so that they can be kept with
//! the layer. [`merge`] applies such trees on top of each other.
//!
//! The archive is treated as hostile: every length is checked against [`Limits`] before memory is
//! allocated, no name is ever passed to the host's file system, and ambiguous entries are refused.
//! `docs/layer-semantics.md` lists every choice, and the other tools that make the same choice.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod error;
mod layer;
mod limits;
pub mod markers;
mod merge;
mod removals;

pub use error::{Exceeded, InvalidEntry, InvalidLimit, LayerError, MergeError};
pub use layer::{Layer, Note, NoteReason, read_layer};
pub use limits::{Limit, Limits, Unit};
pub use merge::{Merged, merge};
pub use tar_stream::{InvalidHeader, RawPath};
