use std::collections::HashMap;

use fstree::{Extent, FileKind, InodeId, Tree};

use crate::extent::Run;
use crate::format::BLOCK_SIZE;
use crate::inode;
use crate::plan::Plan;
use crate::space::Space;
use crate::{FileContent, InvalidInode, WriteError};

/// Consecutive blocks of an image that are not written, because a device outside of it has their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutsideRun {
    /// First block of the run in the image.
    pub start_block: u64,
    /// Length of the run, in blocks.
    pub blocks: u64,
    /// The device, as [`Extent::device`] numbers it.
    pub device: u16,
    /// First block of the run on the device.
    pub device_block: u64,
}

/// The blocks of the files whose content lies outside of the image.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    /// The longest runs, in ascending order of their blocks in the image.
    runs: Vec<OutsideRun>,
    /// The blocks of each such file.
    files: HashMap<InodeId, Vec<Run>>,
}

impl Outside {
    /// Allocates blocks for all content outside of the image. They are taken in the order in which it lies
    /// there, so that neighbours stay neighbours. Two files never share a block, as ext4 demands: a run that
    /// both have stands in the image twice.
    pub(crate) fn allocate<C: FileContent>(
        tree: &Tree<C>,
        plan: &Plan,
        space: &mut Space,
    ) -> Result<Self, WriteError> {
        let mut outside = Self::default();
        let mut extents: Vec<(Extent, InodeId)> = Vec::new();
        for planned in &plan.inodes {
            let FileKind::Regular(content) = &tree.inode(planned.id).kind else {
                continue;
            };
            if let Some(of_file) = content.outside() {
                let size_bytes = content.size_bytes();
                check(of_file, size_bytes).map_err(WriteError::at(&planned.path))?;
                outside.files.insert(planned.id, Vec::new());
                extents.extend(of_file.iter().map(|extent| (*extent, planned.id)));
            }
        }
        extents.sort_by_key(|(extent, _)| (extent.device, extent.start_block));
        for (extent, id) in extents {
            outside.place(extent, id, space)?;
        }
        for runs in outside.files.values_mut() {
            runs.sort_by_key(|run| run.file_block);
        }
        Ok(outside)
    }

    /// Returns the runs, in ascending order.
    pub(crate) fn runs(&self) -> &[OutsideRun] {
        &self.runs
    }

    /// Returns the blocks of a file; `None` if its content is written.
    pub(crate) fn runs_of(&self, id: InodeId) -> Option<&[Run]> {
        self.files.get(&id).map(Vec::as_slice)
    }

    /// Allocates the blocks of one extent of a file.
    fn place(&mut self, extent: Extent, id: InodeId, space: &mut Space) -> Result<(), WriteError> {
        for taken in space.take(extent.blocks)? {
            let run = OutsideRun {
                start_block: taken.start_block,
                blocks: taken.blocks,
                device: extent.device,
                device_block: u64::from(extent.start_block) + taken.file_block,
            };
            match self.runs.last_mut() {
                Some(last) if is_continued(last, &run) => last.blocks += run.blocks,
                _ => self.runs.push(run),
            }
            self.files.entry(id).or_default().push(Run {
                file_block: extent.file_block + taken.file_block,
                ..taken
            });
        }
        Ok(())
    }
}

/// Returns true if `next` continues a run in the image and on its device.
fn is_continued(run: &OutsideRun, next: &OutsideRun) -> bool {
    run.device == next.device
        && run.start_block + run.blocks == next.start_block
        && run.device_block + run.blocks == next.device_block
}

/// Checks that extents are ascending runs within a file of `size_bytes`.
fn check(extents: &[Extent], size_bytes: u64) -> Result<(), InvalidInode> {
    inode::check_size(size_bytes)?;
    let mut end = 0;
    for extent in extents {
        let next = extent.file_block.checked_add(extent.blocks);
        match next.filter(|next| *next <= size_bytes.div_ceil(BLOCK_SIZE)) {
            Some(next) if extent.file_block >= end => end = next,
            _ => return Err(InvalidInode::Outside { size_bytes }),
        }
    }
    Ok(())
}
