//! The writer: the journal, then each inode with its content, then the groups' metadata.

mod content;
mod emitter;
mod groups;
mod inode;
mod journal;
mod summary;

use fstree::Tree;

use self::emitter::Emitter;
use self::groups::GroupWriter;
use self::inode::InodeWriter;
pub use self::summary::Summary;
use crate::{FileContent, Layout, Options, SparseOutput, WriteError};

/// Writes an ext4 filesystem that contains `tree`. The same arguments produce the same bytes.
///
/// # Errors
/// If ext4 cannot have the size or the tree, if a file's content cannot be read, or if the output
/// fails. The output is then unusable.
pub fn write<C: FileContent>(
    tree: &Tree<C>,
    options: &Options,
    output: impl SparseOutput,
) -> Result<Summary, WriteError> {
    Layout::new(tree, options)?.write(output)
}

/// Writes what a layout has found a place for.
pub(crate) fn write_layout<C: FileContent>(
    layout: Layout<'_, C>,
    output: impl SparseOutput,
) -> Result<Summary, WriteError> {
    let options = layout.options;
    let mut emitter = Emitter::new(&layout.geometry, layout.space, options, output);
    emitter.set_len(options.size_bytes)?;
    let journal = journal::write(&mut emitter, options, &layout.journal)?;
    let plan = &layout.plan;
    let mut inodes = InodeWriter::new(layout.tree, plan, &layout.outside, &mut emitter);
    for planned in &plan.inodes {
        inodes.write(planned)?;
    }
    let directories = inodes.into_directories();
    emitter.end_inodes()?;
    GroupWriter::new(&mut emitter, plan.last_number(), &directories).write(options, &journal)
}
