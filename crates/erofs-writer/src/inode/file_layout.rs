use std::ops::Range;

use super::ChunkMap;
use crate::device::DeviceSlot;
use crate::error::InvalidInode;
use crate::length::blocks_of;
use crate::{Extent, FileData};

/// How a regular file says where its content lies.
#[derive(Debug, Clone)]
pub(crate) enum FileLayout {
    /// No content.
    Empty,
    /// One run that holds the whole file: nothing but its first block is stored.
    Plain {
        /// 0 for the image itself.
        device: u16,
        /// On that device.
        start_block: u32,
    },
    /// Holes, or several runs.
    Chunked(ChunkMap),
}

/// Where extents may lie.
#[derive(Debug)]
pub(crate) struct Limits<'a> {
    /// The data blocks of the image itself.
    pub(crate) own_blocks: Range<u64>,
    /// The other devices.
    pub(crate) devices: &'a [DeviceSlot],
}

impl FileLayout {
    /// Checks a file's data and picks the layout that costs least.
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

/// The extents with neighbours joined that continue each other in the file and on the device.
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
