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
use crate::geometry::Geometry;
use crate::plan::Plan;
use crate::{FileContent, Options, SparseOutput, WriteError};

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
    let geometry = Geometry::new(options)?;
    let plan = Plan::new(tree, geometry.inodes())?;
    let mut emitter = Emitter::new(&geometry, options, output);
    emitter.set_len(options.size_bytes)?;
    let journal = journal::write(&mut emitter, options)?;
    let mut inodes = InodeWriter::new(tree, &plan, &mut emitter);
    for planned in &plan.inodes {
        inodes.write(planned)?;
    }
    let directories = inodes.into_directories();
    GroupWriter::new(&mut emitter, plan.last_number(), &directories).write(options, &journal)
}
