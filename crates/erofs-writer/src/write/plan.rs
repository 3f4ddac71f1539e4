use std::io;

use super::Options;
use super::addresses::Addresses;
use super::emitter::Emitter;
use super::output::Output;
use super::source::Source;
use super::superblock::Facts;
use crate::device::AddressSpace;
use crate::error::WriteError;
use crate::length::{Length, blocks_of};

/// The addresses of all parts of an image, and the superblock's facts.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) addresses: Addresses,
    pub(super) facts: Facts,
}

impl Plan {
    /// Emits the metadata into a sink to find its addresses. The area starts at `meta_block`:
    /// inodes, then metadata that does not fit behind them, then the shared xattrs.
    pub(super) fn measure(
        source: &Source<'_>,
        meta_block: u64,
        options: &Options,
    ) -> Result<Self, WriteError> {
        let unknown = Addresses {
            nids: vec![0; source.tree.len()],
            outside_block: 0,
            space: AddressSpace::default(),
        };
        let emitter = Emitter::new(source, &unknown, Output::new(io::sink()));
        let (measured, learned) = emitter.inodes()?;
        let outside_block = meta_block + blocks_of(measured.offset_bytes());
        let xattr_block = outside_block + learned.outside_blocks;
        let blocks = xattr_block + blocks_of(source.shared.area().length_bytes());
        let device_blocks = options
            .devices
            .iter()
            .map(|device| u64::from(device.blocks));
        let total = blocks.saturating_add(device_blocks.sum());
        let too_large = || WriteError::TooLarge { blocks: total };
        let address = |block: u64| u32::try_from(block).map_err(|_| too_large());
        let root = learned.nids[source.tree.root().index()];
        Ok(Self {
            facts: Facts {
                inodes: u64::from(learned.inodes),
                blocks: address(blocks)?,
                root_nid: u16::try_from(root).expect("the root comes first"),
                meta_blkaddr: address(meta_block)?,
                xattr_blkaddr: address(xattr_block)?,
                has_chunks: learned.has_chunks,
            },
            addresses: Addresses {
                nids: learned.nids,
                outside_block,
                space: AddressSpace::new(address(blocks)?, &options.devices)
                    .ok_or_else(too_large)?,
            },
        })
    }
}
