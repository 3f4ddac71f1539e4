use std::ops::Range;

use crate::block_size::BlockSize;
use crate::device::TABLE_OFFSET;
use crate::format::Incompat;
use crate::length::Length;
use crate::read::{Body, Image, Node, Structure};

/// A range of an image's bytes that belongs to one structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region {
    /// The range, in bytes from the image's start.
    pub(crate) range: Range<u64>,
    /// The structure that the bytes hold.
    pub(crate) structure: Structure,
}

impl Region {
    fn new(range: &Range<u64>, structure: Structure) -> Self {
        Self {
            range: range.clone(),
            structure,
        }
    }

    /// Returns the regions of the superblock and the device table.
    pub(crate) fn of_head<R>(image: &Image<R>) -> Vec<Self> {
        let table_offset = [0; TABLE_OFFSET].length_bytes();
        let mut regions = vec![Self::new(&(1024..table_offset), Structure::SuperBlock)];
        if image.disk.feature_incompat.get() & Incompat::DEVICE_TABLE.bits() != 0 {
            let start = u64::from(image.disk.devt_slotoff.get()) * 128;
            let end = start + u64::from(image.disk.extra_devices.get()) * 128;
            regions.push(Self::new(&(start..end), Structure::DeviceTable));
        }
        regions
    }

    /// Returns the regions of one inode's metadata.
    pub(crate) fn of_node(node: &Node) -> Vec<Self> {
        let nid = node.nid;
        let content = match node.body {
            Body::Symlink(_) => Structure::Symlink(nid),
            Body::Regular(_) => Structure::InlineData(nid),
            _ => Structure::Directory(nid),
        };
        let own = [
            (&node.spans.inode, Structure::Inode(nid)),
            (&node.spans.xattrs, Structure::Xattrs(nid)),
            (&node.spans.tail, content),
            (&node.spans.outside, content),
            (&node.spans.chunk_map, Structure::ChunkMap(nid)),
        ];
        let shared = node.spans.shared_xattrs.iter();
        own.into_iter()
            .chain(shared.map(|range| (range, Structure::SharedXattr)))
            .filter(|(range, _)| !range.is_empty())
            .map(|(range, structure)| Self::new(range, structure))
            .collect()
    }

    /// Returns the regions of one inode's data that lie in the image itself.
    pub(crate) fn of_data(node: &Node, block_size: BlockSize) -> Vec<Self> {
        let Body::Regular(data) = &node.body else {
            return Vec::new();
        };
        let own = data.extents.iter().filter(|extent| extent.device == 0);
        own.map(|extent| {
            let start = block_size.offset_bytes(extent.start_block);
            let range = start..start + extent.blocks * block_size.bytes();
            Self::new(&range, Structure::FileData(node.nid))
        })
        .collect()
    }
}

/// Sorts regions by their place in the image.
pub(crate) fn sort(regions: &mut [Region]) {
    regions.sort_by_key(|region| (region.range.start, region.range.end));
}
