//! The disk of a native root, written anew: the root's files stay as they are, and what the layers of the image have
//! of their content stays there.

use std::convert::Infallible;
use std::sync::Arc;

use ext4_writer::OutsideRun;
use fstree::{BLOCK_SIZE_BYTES, Extent, Tree};
use generations::{Base, BlockFile, FileBlocks, FileRun, FileStorage, OpenError, Snapshot};
use msb_runtime::{UpperPool, with_native_root};
use rootfs_view::{Content, View};

use super::{DiscardError, Discarding, DiskFile};
use crate::disks::{DiskReader, Disks};

/// The content of a new upper disk.
pub(crate) struct NewUpper {
    pub(super) tree: Tree<DiskFile>,
    /// The files outside of the disk that have content of it.
    outside: Vec<BlockFile>,
}

impl NewUpper {
    /// Returns the content of a disk that has all of it itself.
    pub(super) const fn new(tree: Tree<DiskFile>) -> Self {
        Self {
            tree,
            outside: Vec::new(),
        }
    }

    /// Returns the base of the disk, of which other files have these blocks; `None` if they have none.
    pub(super) fn base(&self, runs: &[OutsideRun], size_bytes: u64) -> Option<Base> {
        let runs = runs.iter().map(|run| FileRun {
            first_block: run.start_block,
            count: run.blocks,
            file: run.device.saturating_sub(1),
            file_block: run.device_block,
        });
        let blocks = FileBlocks {
            length_bytes: size_bytes,
            files: self.outside.clone(),
            runs: runs.collect(),
        };
        (!blocks.runs.is_empty()).then_some(Base::FileBlocks(blocks))
    }
}

impl Discarding<'_> {
    /// Returns the content of a new upper disk with the native root on the old one.
    pub(super) fn with_native_root(&self, root: &Arc<Disks>) -> Result<NewUpper, DiscardError> {
        let pool = UpperPool::existing(&self.sandbox.files);
        let pool = pool.map_err(|source| DiscardError::Write {
            name: self.sandbox.spec.name.clone(),
            source,
        })?;
        let layers = Layers::of(&pool);
        let layers = layers.map_err(|source| self.snapshot_error(source.into()))?;
        let (tree, outside) = files(root, layers);
        Ok(NewUpper {
            tree: with_native_root(tree),
            outside,
        })
    }
}

/// Returns the files of a native root as a new disk has them, and the files outside of it that have content of
/// them.
fn files(root: &Arc<Disks>, mut layers: Option<Layers>) -> (Tree<DiskFile>, Vec<BlockFile>) {
    let Ok(tree) = root.view.tree().clone().try_map(|content| {
        let layers = layers.as_mut();
        let extents = layers.and_then(|layers| layers.extents(&root.view, &content));
        Ok::<_, Infallible>(match extents {
            Some(extents) => DiskFile::Outside {
                size_bytes: content.size_bytes(),
                extents,
            },
            None => DiskFile::on_disk(root, &content),
        })
    });
    let outside = layers.map(|layers| layers.base.files);
    (tree, outside.unwrap_or_default())
}

/// The layers of an image that have blocks of a disk.
struct Layers {
    disk: Snapshot<FileStorage>,
    base: FileBlocks,
    /// The parts of runs that may still be found. No block belongs to two files, so that a part begins with a run
    /// or with an extent.
    parts_left: usize,
}

impl Layers {
    /// Returns the layers below a disk; `None` if it has all of its blocks itself.
    fn of(pool: &UpperPool) -> Result<Option<Self>, OpenError> {
        let Some(Base::FileBlocks(base)) = pool.base()? else {
            return Ok(None);
        };
        Ok(Some(Self {
            disk: pool.read()?,
            parts_left: base.runs.len(),
            base,
        }))
    }

    /// Returns the runs of blocks of the layers that hold a file's content; each layer is a device, from 1. `None` if
    /// the disk itself has a part of it.
    fn extents(&mut self, view: &View<DiskReader>, content: &Content) -> Option<Vec<Extent>> {
        let on_disk = view.upper_extents(content)?;
        let end = content.size_bytes().div_ceil(BLOCK_SIZE_BYTES);
        let mut extents = Vec::new();
        for extent in on_disk {
            let last = extent.file_block.checked_add(extent.blocks)?;
            if !extent.is_written || last > end {
                return None;
            }
            self.parts_left = self.parts_left.saturating_add(1);
            let (first, count) = (extent.start_block, extent.blocks);
            for part in self.disk.parts_of_base(&self.base, first, count)? {
                self.parts_left = self.parts_left.checked_sub(1)?;
                extents.push(Extent {
                    file_block: extent.file_block + (part.first_block - first),
                    blocks: part.count,
                    device: part.file.checked_add(1)?,
                    start_block: u32::try_from(part.file_block).ok()?,
                });
            }
        }
        (!extents.is_empty()).then_some(extents)
    }
}

#[cfg(test)]
mod tests;
