//! The layer of an OCI image that makes the new tree of the old one (OCI image specification,
//! layer.md).

mod error;
mod metadata;
mod note;
mod output;
mod plan;

use std::io::Write;

use fstree::Timestamp;

pub use error::LayerError;
pub use note::{LayerNote, LayerNoteReason};
use output::Output;
use plan::Plan;

use crate::{Change, Relation, Scope, Side, compare};

/// Options of a layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LayerOptions {
    /// The latest modification time of an entry; later times are replaced by it. `None` keeps all
    /// times.
    pub latest_mtime: Option<Timestamp>,
}

/// A layer that is not written yet: the entries that make the new tree of the old one.
#[derive(Debug)]
pub struct LayerPlan {
    plan: Plan,
    options: LayerOptions,
}

/// The result of writing a layer.
#[derive(Debug)]
pub struct WrittenLayer<W> {
    /// The flushed output.
    pub out: W,
    /// Number of entries, including whiteouts.
    pub entries: u64,
    /// Files and attributes that the layer lacks, at most [`LayerNote::KEPT_MAX`] of them.
    pub notes: Vec<LayerNote>,
    /// Number of all notes, including those that were not kept.
    pub notes_total: u64,
}

impl LayerPlan {
    /// Finds the entries of the layer that makes the new tree of the old one.
    ///
    /// # Errors
    /// If content cannot be read, or the changes are too many.
    pub fn new<O, N>(
        old: &O,
        new: &N,
        relation: &impl Relation<O::Content, N::Content>,
        options: LayerOptions,
    ) -> Result<Self, LayerError<N::Error>>
    where
        O: Side<Error = N::Error>,
        N: Side,
    {
        let changes = compare(old, new, relation, &Scope::everything())?;
        Ok(Self::of_changes(old, new, relation, &changes, options))
    }

    /// Finds the entries of the layer that makes some of the changes of the old tree to the new one. A file
    /// with several names has all of them in the layer if one is changed.
    pub fn of_changes<O: Side, N: Side>(
        old: &O,
        new: &N,
        relation: &impl Relation<O::Content, N::Content>,
        changes: &[Change],
        options: LayerOptions,
    ) -> Self {
        let plan = Plan::new(old, new, relation, changes, options);
        Self { plan, options }
    }

    /// Returns true if the layer has no entries.
    pub fn is_empty(&self) -> bool {
        self.plan.is_empty()
    }

    /// Writes the layer as an uncompressed tar. It has the same bytes each time. `new` is the tree
    /// that the layer was planned for.
    ///
    /// The directories above a change are entries too: an engine that unpacks a layer by itself has
    /// no other source of their attributes. In each directory whiteouts come first, then names in
    /// bytewise order. A file with several names is written in full under the first of them, and
    /// all others are links to it, because engines refuse links into lower layers.
    ///
    /// # Errors
    /// If `out` fails, content cannot be read, or a path cannot be part of a layer.
    pub fn write<N: Side, W: Write>(
        &self,
        new: &N,
        out: W,
    ) -> Result<WrittenLayer<W>, LayerError<N::Error>> {
        Output::new(new, &self.plan, self.options, out).run()
    }
}
