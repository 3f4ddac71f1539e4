//! From a tar stream to a layer's tree.

mod builder;
mod content;
mod cost;
mod hardlinks;
mod note;
mod path;
mod resolve;
mod whiteouts;
mod xattrs;

use std::io::Read;

use erofs_writer::FileData;
use fstree::Tree;

pub(crate) use hardlinks::describe;
pub use note::{Note, NoteReason};
pub(crate) use path::components;
pub(crate) use resolve::{Place, resolve};

use crate::error::LayerError;
use crate::limits::Limits;
use crate::sink::DataSink;
use crate::tar::Entries;
use builder::Builder;

/// What a layer's tar says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The layer's files, and what it does to the layers below as [`markers`](crate::markers).
    /// Content lies on device 0, which is where the sink put it.
    pub tree: Tree<FileData>,
    /// What the tree lacks, in the archive's order; at most [`Limit::LayerNotes`](crate::Limit).
    pub notes: Vec<Note>,
    /// How many notes there were, kept or not.
    pub notes_total: u64,
}

/// Reads an uncompressed layer to the end of the stream. Content goes to `sink` as it comes; the
/// tree is what stays in memory.
///
/// # Errors
/// When the stream fails or ends early, the archive is malformed or beyond `limits`, or the sink
/// fails. The sink then holds content without names.
pub fn read_layer<R: Read, S: DataSink>(
    tar: R,
    limits: &Limits,
    sink: &mut S,
) -> Result<Layer, LayerError> {
    let mut entries = Entries::new(tar, limits);
    let mut builder = Builder::new(limits);
    while let Some(mut entry) = entries.next_entry()? {
        let Some(place) = builder.place(&mut entry)? else {
            continue;
        };
        let data = content::store(&entry, &mut entries, sink)?;
        builder.put(entry, place, data)?;
    }
    builder.finish()
}
