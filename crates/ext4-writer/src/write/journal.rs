use fstree::Metadata;
use zerocopy::IntoBytes as _;

use super::emitter::Emitter;
use crate::extent::{ExtentTree, Run};
use crate::format::{BLOCK_SIZE, JOURNAL_INODE};
use crate::inode::{Content, Payload};
use crate::superblock;
use crate::{Options, SparseOutput, WriteError};

/// Writes the journal to its blocks.
pub(super) fn write<O: SparseOutput>(
    emitter: &mut Emitter<'_, O>,
    options: &Options,
    runs: &[Run],
) -> Result<ExtentTree, WriteError> {
    let superblock = superblock::journal_superblock(emitter.geometry, options.uuid);
    if let Some(run) = runs.first() {
        emitter.put(superblock.as_bytes(), run.start_block * BLOCK_SIZE)?;
    }
    let extents = emitter.extents(runs, JOURNAL_INODE)?;
    let metadata = Metadata::with_mode(0o600);
    let content = Content {
        st_mode: 0o100_600,
        metadata: &metadata,
        links: 1,
        size_bytes: emitter.geometry.journal_blocks * BLOCK_SIZE,
        payload: Payload::Extents(extents.clone()),
        xattr_block: 0,
        xattrs: &[],
    };
    emitter.put_inode(JOURNAL_INODE, &content, b"(journal)")?;
    Ok(extents)
}
