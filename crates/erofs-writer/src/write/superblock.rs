use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromZeros, IntoBytes};

use super::Options;
use crate::checksum::superblock_checksum;
use crate::device::{AddressSpace, TABLE_OFFSET};
use crate::format::{
    BLOCK_BITS, BLOCK_BYTES, Compat, DEVICE_SLOT_BYTES, DeviceSlotDisk, Incompat, MAGIC,
    SUPERBLOCK_OFFSET, SuperBlock,
};

/// The fields of the superblock that do not come from the options.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) inodes: u64,
    pub(super) blocks: u32,
    pub(super) root_nid: u16,
    pub(super) meta_blkaddr: u32,
    pub(super) xattr_blkaddr: u32,
    pub(super) has_chunks: bool,
}

/// Encodes the first blocks of the image: 1 KiB of zeros, the superblock, the device table.
pub(super) fn encode(options: &Options, facts: &Facts, space: &AddressSpace) -> Vec<u8> {
    let mut head = vec![0; SUPERBLOCK_OFFSET];
    head.extend_from_slice(superblock(options, facts).as_bytes());
    for (number, device) in (1..).zip(&options.devices) {
        let mut slot = DeviceSlotDisk::new_zeroed();
        slot.tag[..device.tag.len()].copy_from_slice(device.tag.as_bytes());
        slot.blocks = U32::new(device.blocks);
        slot.mapped_blkaddr = U32::new(space.start(number));
        head.extend_from_slice(slot.as_bytes());
    }
    head.resize(head.len().next_multiple_of(1 << BLOCK_BITS), 0);
    let checksum = superblock_checksum(&head[SUPERBLOCK_OFFSET..BLOCK_BYTES]);
    head[SUPERBLOCK_OFFSET + 4..SUPERBLOCK_OFFSET + 8].copy_from_slice(&checksum.to_le_bytes());
    head
}

fn superblock(options: &Options, facts: &Facts) -> SuperBlock {
    let mut incompat = Incompat::empty();
    incompat.set(Incompat::CHUNKED_FILE, facts.has_chunks);
    incompat.set(Incompat::DEVICE_TABLE, !options.devices.is_empty());
    let compat = Compat::SB_CHKSUM | Compat::MTIME | Compat::XATTR_FILTER;

    let mut superblock = SuperBlock::new_zeroed();
    superblock.magic = U32::new(MAGIC);
    superblock.feature_compat = U32::new(compat.bits());
    superblock.feature_incompat = U32::new(incompat.bits());
    superblock.blkszbits = BLOCK_BITS;
    superblock.root_nid = U16::new(facts.root_nid);
    superblock.inos = U64::new(facts.inodes);
    superblock.blocks = U32::new(facts.blocks);
    superblock.meta_blkaddr = U32::new(facts.meta_blkaddr);
    superblock.xattr_blkaddr = U32::new(facts.xattr_blkaddr);
    superblock.uuid = options.uuid;
    let name = options.volume_name.as_bytes();
    superblock.volume_name[..name.len()].copy_from_slice(name);
    if let Ok(devices @ 1..) = u16::try_from(options.devices.len()) {
        superblock.extra_devices = U16::new(devices);
        let slot = TABLE_OFFSET / DEVICE_SLOT_BYTES;
        superblock.devt_slotoff = U16::new(u16::try_from(slot).expect("the table starts early"));
    }
    superblock
}
