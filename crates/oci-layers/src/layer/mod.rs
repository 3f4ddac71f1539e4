//! Reads a tar stream into a layer's tree.

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

use fstree::{DataSink, FileData, Tree};
use tar_stream::ArchiveReader;

pub(crate) use hardlinks::describe;
pub use note::{Note, NoteReason};
pub(crate) use path::components;
pub(crate) use resolve::{ResolvedPath, resolve};

use crate::error::LayerError;
use crate::limits::Limits;
use builder::Builder;

/// A layer, as read from its tar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The layer's files, with its changes to the layers below as [`markers`](crate::markers).
    /// Content lies on device 0, where the sink stored it.
    pub tree: Tree<FileData>,
    /// Entries and attributes that the tree lacks, in the archive's order. At most
    /// [`Limit::LayerNotes`](crate::Limit) are kept.
    pub notes: Vec<Note>,
    /// Number of all notes, including those that were not kept.
    pub notes_total: u64,
}

/// Reads an uncompressed layer to the end of the stream. Content goes to `sink` as it arrives; only
/// the tree stays in memory.
///
/// # Errors
/// The stream fails or ends early, the archive is malformed or exceeds `limits`, or the sink fails.
/// The sink then holds content without names.
pub fn read_layer<R: Read, S: DataSink>(
    tar: R,
    limits: &Limits,
    sink: &mut S,
) -> Result<Layer, LayerError> {
    let mut archive = ArchiveReader::new(tar, limits.of_archive());
    let mut builder = Builder::new(limits);
    while let Some(mut entry) = archive.next_entry()? {
        let Some(place) = builder.place(&mut entry)? else {
            continue;
        };
        let data = content::store(&entry, &mut archive, sink)?;
        builder.put(entry, place, data)?;
    }
    builder.finish()
}
