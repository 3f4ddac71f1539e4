//! OCI layers: tar streams become trees, trees become an image.
//!
//! [`read_layer`] reads one layer's tar once, from start to end. File content goes to a
//! [`DataSink`] as it streams by; what stays is a [`Tree`](fstree::Tree) of metadata. What the layer
//! does to the layers below it (whiteouts, opaque directories) stands in that tree as the xattrs of
//! [`markers`], so that it can be stored with the layer. [`merge`] puts such trees on each other.
//!
//! The archive is hostile until shown otherwise: every length is checked against [`Limits`] before
//! memory is taken, no name is ever given to the host's file system, and what is ambiguous is
//! refused. `docs/layer-semantics.md` has every choice, and whose choice it also is.

#![warn(clippy::as_conversions)]

mod error;
mod layer;
mod limits;
pub mod markers;
mod merge;
mod removals;
mod sink;
pub mod tar;

pub use error::{
    Exceeded, InvalidEntry, InvalidHeader, InvalidLimit, LayerError, MergeError, RawPath,
};
pub use layer::{Layer, Note, NoteReason, read_layer};
pub use limits::{Limit, Limits, Unit};
pub use merge::{Merged, merge};
pub use sink::DataSink;
