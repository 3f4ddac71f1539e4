use zerocopy::IntoBytes as _;

use super::layout::Layout;
use super::{Fault, Image, ReadAt, ReadError, Structure};
use crate::checksum::{crc16, crc32c};
use crate::features::{Incompat, RoCompat};
use crate::format::{GroupDescriptor, whole};

/// Offset of `bg_checksum` in a descriptor, in bytes.
const CHECKSUM_AT: usize = 0x1e;

/// Fields of a group's descriptor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    pub(crate) block_bitmap: u64,
    pub(crate) inode_bitmap: u64,
    pub(crate) inode_table: u64,
    pub(crate) free_blocks: u32,
    pub(crate) free_inodes: u32,
    pub(crate) used_directories: u32,
    pub(crate) itable_unused: u32,
    pub(crate) flags: u16,
    pub(crate) checksum: u16,
    /// CRC-32C of the bitmap; without `64bit` only the low half is stored.
    pub(crate) block_bitmap_csum: u32,
    pub(crate) inode_bitmap_csum: u32,
}

impl<R: ReadAt> Image<R> {
    /// Reads a group's descriptor and checks it.
    pub(crate) fn group(&self, group: u32) -> Result<Group, ReadError> {
        let layout = &self.layout;
        let index = u64::from(group % layout.descriptors_per_block());
        let offset_bytes = layout.descriptor_block(group) * layout.block_size()
            + index * u64::from(layout.descriptor_bytes);
        let mut bytes = vec![0; usize::from(layout.descriptor_bytes)];
        self.blocks.read(&mut bytes, offset_bytes)?;
        let corrupt = |fault| Structure::Descriptor(group).corrupt(offset_bytes, fault);
        check_checksum(layout, group, &bytes).map_err(corrupt)?;
        let found = parse(layout, &bytes);
        let parts = [
            (found.block_bitmap, 1),
            (found.inode_bitmap, 1),
            (found.inode_table, layout.inode_table_blocks()),
        ];
        for (start_block, blocks) in parts {
            if !layout.holds(start_block, blocks) {
                let end_block = start_block.saturating_add(blocks);
                return Err(corrupt(Fault::Blocks {
                    start_block,
                    end_block,
                }));
            }
        }
        Ok(found)
    }
}

fn check_checksum(layout: &Layout, group: u32, bytes: &[u8]) -> Result<(), Fault> {
    let stored = u16::from_le_bytes([bytes[CHECKSUM_AT], bytes[CHECKSUM_AT + 1]]);
    let number = group.to_le_bytes();
    let computed = if layout.has_checksums() {
        let crc = crc32c(layout.seed, &number);
        let crc = crc32c(crc32c(crc, &bytes[..CHECKSUM_AT]), &[0; 2]);
        let crc = crc32c(crc, &bytes[CHECKSUM_AT + 2..]);
        u16::try_from(crc & 0xffff).expect("masked")
    } else if layout.ro_compat.contains(RoCompat::GDT_CSUM) {
        let crc = crc16(crc16(u16::MAX, &layout.disk.s_uuid), &number);
        crc16(crc16(crc, &bytes[..CHECKSUM_AT]), &bytes[CHECKSUM_AT + 2..])
    } else {
        return Ok(());
    };
    if stored == computed {
        return Ok(());
    }
    Err(Fault::Checksum {
        stored: stored.into(),
        computed: computed.into(),
    })
}

fn parse(layout: &Layout, bytes: &[u8]) -> Group {
    let mut full = GroupDescriptor::default();
    let taken = bytes.len().min(size_of::<GroupDescriptor>());
    let has_high = layout.incompat.contains(Incompat::BITS_64);
    let taken = if has_high { taken } else { taken.min(32) };
    full.as_mut_bytes()[..taken].copy_from_slice(&bytes[..taken]);
    let words = |low: zerocopy::little_endian::U16, high: zerocopy::little_endian::U16| {
        u32::from(low.get()) | u32::from(high.get()) << 16
    };
    Group {
        block_bitmap: whole(full.bg_block_bitmap_lo, full.bg_block_bitmap_hi.get()),
        inode_bitmap: whole(full.bg_inode_bitmap_lo, full.bg_inode_bitmap_hi.get()),
        inode_table: whole(full.bg_inode_table_lo, full.bg_inode_table_hi.get()),
        free_blocks: words(full.bg_free_blocks_count_lo, full.bg_free_blocks_count_hi),
        free_inodes: words(full.bg_free_inodes_count_lo, full.bg_free_inodes_count_hi),
        used_directories: words(full.bg_used_dirs_count_lo, full.bg_used_dirs_count_hi),
        itable_unused: words(full.bg_itable_unused_lo, full.bg_itable_unused_hi),
        flags: full.bg_flags.get(),
        checksum: full.bg_checksum.get(),
        block_bitmap_csum: words(full.bg_block_bitmap_csum_lo, full.bg_block_bitmap_csum_hi),
        inode_bitmap_csum: words(full.bg_inode_bitmap_csum_lo, full.bg_inode_bitmap_csum_hi),
    }
}
