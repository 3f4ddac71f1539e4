use std::num::NonZeroU64;

use super::node_reader::NodeReader;
use super::{Fault, ReadAt, ReadError, Spans, Structure, Unsupported};
use crate::format::{CHUNK_FORMAT_BLKBITS_MASK, CHUNK_FORMAT_INDEXES, NULL_ADDRESS};
use crate::inode::{DiskInode, Layout};
use crate::{Extent, FileData};

/// Bytes of a chunk map that are read at a time: a multiple of both entries' sizes.
const MAP_PIECE_BYTES: u64 = 16 * 1024;

/// Memory that an extent takes, in bytes.
const EXTENT_BYTES: u64 = 24;
const _: () = assert!(size_of::<Extent>() == 24);

/// The format of a chunk map.
#[derive(Debug, Clone, Copy)]
struct MapFormat {
    block_bits: u32,
    has_indexes: bool,
}

impl<R: ReadAt> NodeReader<'_, R> {
    /// Reads the location of a regular file's content.
    pub(super) fn file_data(
        &mut self,
        nid: u64,
        inode: &DiskInode,
        spans: &mut Spans,
    ) -> Result<FileData, ReadError> {
        let mut data = FileData {
            size_bytes: inode.size_bytes,
            ..FileData::default()
        };
        let blocks = self.image.block_size.blocks_of(inode.size_bytes);
        match inode.layout {
            _ if blocks == 0 => {}
            Layout::ChunkBased => self.chunks(nid, inode, spans, &mut data)?,
            _ => self.flat(nid, inode, spans, &mut data)?,
        }
        for extent in &data.extents {
            self.check(nid, spans, extent)?;
        }
        Ok(data)
    }

    /// Reads flat content: one run of blocks, and a last part behind the inode if it has one.
    fn flat(
        &mut self,
        nid: u64,
        inode: &DiskInode,
        spans: &mut Spans,
        data: &mut FileData,
    ) -> Result<(), ReadError> {
        let outside_bytes = self.place_tail(Structure::InlineData(nid), inode, spans)?;
        if !spans.tail.is_empty() {
            data.inline_offset_bytes = NonZeroU64::new(spans.tail.start);
        }
        let blocks = self.image.block_size.blocks_of(outside_bytes);
        // Newer kernels read this address as one hole.
        if blocks > 0 && inode.union != NULL_ADDRESS {
            let (device, start_block) = self.image.space.locate(inode.union);
            data.extents.push(Extent {
                file_block: 0,
                blocks,
                device,
                start_block,
            });
        }
        Ok(())
    }

    fn chunks(
        &mut self,
        nid: u64,
        inode: &DiskInode,
        spans: &mut Spans,
        data: &mut FileData,
    ) -> Result<(), ReadError> {
        let structure = Structure::ChunkMap(nid);
        let format = MapFormat::new(nid, inode.union)?;
        let blocks = self.image.block_size.blocks_of(data.size_bytes);
        let entry_bytes = if format.has_indexes { 8 } else { 4 };
        let start = spans.end_of_head().next_multiple_of(entry_bytes);
        let length_bytes = blocks
            .div_ceil(1 << format.block_bits)
            .checked_mul(entry_bytes)
            .filter(|length| start.checked_add(*length).is_some())
            .ok_or_else(|| structure.corrupt(start, Fault::TooLarge))?;
        spans.chunk_map = start..start + length_bytes;
        self.pages.check_bounds(structure, start, length_bytes)?;
        let mut file_block = 0;
        let mut next = start;
        while next < spans.chunk_map.end {
            let length = MAP_PIECE_BYTES.min(spans.chunk_map.end - next);
            let piece = self.pages.read(structure, next, length)?;
            for entry in piece.chunks_exact(if format.has_indexes { 8 } else { 4 }) {
                let chunk_blocks = (blocks - file_block).min(1 << format.block_bits);
                if let Some((device, start_block)) = self.locate(entry) {
                    let extent = Extent {
                        file_block,
                        blocks: chunk_blocks,
                        device,
                        start_block,
                    };
                    if push(data, extent) {
                        self.pages.charge(structure, next, EXTENT_BYTES)?;
                    }
                }
                file_block += chunk_blocks;
            }
            next += length;
        }
        Ok(())
    }

    /// Returns the device and block of a map's entry. `None` for a hole.
    fn locate(&self, entry: &[u8]) -> Option<(u16, u32)> {
        let (device, block) = match *entry {
            [_, _, d0, d1, b0, b1, b2, b3] => (
                u16::from_le_bytes([d0, d1]),
                u32::from_le_bytes([b0, b1, b2, b3]),
            ),
            [b0, b1, b2, b3] => (0, u32::from_le_bytes([b0, b1, b2, b3])),
            _ => return None,
        };
        match device {
            _ if block == NULL_ADDRESS => None,
            0 => Some(self.image.space.locate(block)),
            _ => Some((device, block)),
        }
    }

    fn check(&self, nid: u64, spans: &Spans, extent: &Extent) -> Result<(), ReadError> {
        let end_block = u64::from(extent.start_block).saturating_add(extent.blocks);
        if self.image.space.may_hold(extent.device, end_block) {
            return Ok(());
        }
        let fault = Fault::Extent {
            device: extent.device,
            start_block: extent.start_block,
            end_block,
        };
        Err(Structure::FileData(nid).corrupt(spans.inode.start, fault))
    }
}

impl MapFormat {
    fn new(nid: u64, union: u32) -> Result<Self, ReadError> {
        let bits_mask = u32::from(CHUNK_FORMAT_BLKBITS_MASK);
        let indexes = u32::from(CHUNK_FORMAT_INDEXES);
        if union & !(bits_mask | indexes) != 0 {
            let format = union;
            return Err(ReadError::Unsupported(Unsupported::ChunkFormat {
                nid,
                format,
            }));
        }
        Ok(Self {
            block_bits: union & bits_mask,
            has_indexes: union & indexes != 0,
        })
    }
}

/// Adds an extent, or extends the last one if the two are contiguous. Returns true if it was added.
fn push(data: &mut FileData, extent: Extent) -> bool {
    match data.extents.last_mut() {
        Some(last) if last.is_continued_by(&extent) => {
            last.blocks += extent.blocks;
            false
        }
        _ => {
            data.extents.push(extent);
            true
        }
    }
}
