use std::ops::Range;

use super::ChunkMap;
use crate::device::DeviceSlot;
use crate::error::InvalidInode;
use crate::length::blocks_of;
use crate::{Extent, FileData};

/// The way in which a regular file's inode records the location of its content.
#[derive(Debug, Clone)]
pub(crate) enum FileLayout {
    /// The file has no content.
    Empty,
    /// One run holds the whole file, so only its first block is stored.
    Plain {
        /// The device: 0 for the image itself, n for the n-th slot.
        device: u16,
        /// The run's first block on that device.
        start_block: u32,
    },
    /// The file has holes or several runs, so it needs a chunk map.
    Chunked(ChunkMap),
}

/// The blocks that extents may refer to.
#[derive(Debug)]
pub(crate) struct Limits<'a> {
    /// The data blocks of the image itself, in blocks from its start.
    pub(crate) own_blocks: Range<u64>,
    /// The other devices, in the order in which extents count them.
    pub(crate) devices: &'a [DeviceSlot],
}

impl FileLayout {
    /// Checks a file's data and picks the layout that needs the fewest bytes.
    pub(crate) fn plan(data: &FileData, limits: &Limits<'_>) -> Result<Self, InvalidInode> {
        if i64::try_from(data.size_bytes).is_err() {
            return Err(InvalidInode::FileSize {
                size_bytes: data.size_bytes,
            });
        }
        if data.inline_offset_bytes.is_some() {
            return Err(InvalidInode::InlineData);
        }
        let file_blocks = blocks_of(data.size_bytes);
        let extents = joined(data, file_blocks)?;
        for extent in &extents {
            limits.check(extent)?;
        }
        match extents.as_slice() {
            _ if file_blocks == 0 => Ok(Self::Empty),
            [whole] if whole.blocks == file_blocks => Ok(Self::Plain {
                device: whole.device,
                start_block: whole.start_block,
            }),
            _ => ChunkMap::plan(extents, file_blocks).map(Self::Chunked),
        }
    }
}

impl Limits<'_> {
    fn check(&self, extent: &Extent) -> Result<(), InvalidInode> {
        let start = u64::from(extent.start_block);
        let end = start.saturating_add(extent.blocks);
        let allowed = match extent.device {
            0 => self.own_blocks.clone(),
            device => {
                let slot = self.devices.get(usize::from(device) - 1);
                0..slot.map_or(0, |slot| u64::from(slot.blocks))
            }
        };
        if allowed.start <= start && end <= allowed.end {
            return Ok(());
        }
        Err(InvalidInode::ExtentBounds {
            device: extent.device,
            start_block: extent.start_block,
            end_block: end,
        })
    }
}

/// Joins neighbouring extents that continue each other both in the file and on the device.
fn joined(data: &FileData, file_blocks: u64) -> Result<Vec<Extent>, InvalidInode> {
    let mut extents: Vec<Extent> = Vec::with_capacity(data.extents.len());
    let mut previous_end = 0;
    for extent in &data.extents {
        let end = extent.file_block.checked_add(extent.blocks);
        let end = end.filter(|&end| {
            extent.file_block >= previous_end && extent.blocks > 0 && end <= file_blocks
        });
        previous_end = end.ok_or(InvalidInode::ExtentOrder {
            file_block: extent.file_block,
        })?;
        match extents.last_mut() {
            Some(last) if last.is_continued_by(extent) => last.blocks += extent.blocks,
            _ => extents.push(*extent),
        }
    }
    Ok(extents)
}
