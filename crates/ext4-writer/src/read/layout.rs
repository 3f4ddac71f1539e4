use zerocopy::IntoBytes as _;

use super::{Fault, OpenError, ReadError, Structure, Unsupported};
use crate::checksum::{START, crc32c};
use crate::features::{Compat, Incompat, RoCompat};
use crate::format::{
    CHECKSUM_CRC32C, FIRST_INODE, MAGIC, OLD_INODE_BYTES, SUPERBLOCK_OFFSET, SuperBlock, whole,
};
use crate::geometry::has_superblock;

/// Size of a group descriptor without `64bit`, in bytes.
const OLD_DESCRIPTOR_BYTES: u16 = 32;

/// A checked superblock, with its values in the form in which they are used.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) disk: SuperBlock,
    pub(crate) compat: Compat,
    pub(crate) incompat: Incompat,
    pub(crate) ro_compat: RoCompat,
    pub(crate) block_bytes: usize,
    pub(crate) blocks: u64,
    pub(crate) groups: u32,
    pub(crate) inode_bytes: usize,
    pub(crate) descriptor_bytes: u16,
    pub(crate) first_inode: u32,
    /// Seed of every checksum except the superblock's.
    pub(crate) seed: u32,
}

impl Layout {
    /// Checks a superblock, for a source of `size_bytes`.
    pub(crate) fn new(disk: SuperBlock, size_bytes: u64) -> Result<Self, OpenError> {
        let magic = disk.s_magic.get();
        if magic != MAGIC {
            return Err(OpenError::NotExt4 { magic });
        }
        let incompat = Incompat::from_bits_retain(disk.s_feature_incompat.get());
        let ro_compat = RoCompat::from_bits_retain(disk.s_feature_ro_compat.get());
        check_features(incompat, ro_compat)?;
        check_checksum(&disk, ro_compat)?;
        let log_block_size = disk.s_log_block_size.get();
        if log_block_size > 6 {
            return Err(field("s_log_block_size", log_block_size).into());
        }
        let is_old = disk.s_rev_level.get() == 0;
        let descriptor_bytes = if incompat.contains(Incompat::BITS_64) {
            disk.s_desc_size.get()
        } else {
            OLD_DESCRIPTOR_BYTES
        };
        let seed = if incompat.contains(Incompat::CSUM_SEED) {
            disk.s_checksum_seed.get()
        } else {
            crc32c(START, &disk.s_uuid)
        };
        let high = if incompat.contains(Incompat::BITS_64) {
            disk.s_blocks_count_hi.get()
        } else {
            0
        };
        let mut layout = Self {
            compat: Compat::from_bits_retain(disk.s_feature_compat.get()),
            incompat,
            ro_compat,
            block_bytes: 1024 << log_block_size,
            blocks: whole(disk.s_blocks_count_lo, high),
            groups: 0,
            inode_bytes: if is_old {
                OLD_INODE_BYTES
            } else {
                usize::from(disk.s_inode_size.get())
            },
            descriptor_bytes,
            first_inode: if is_old {
                FIRST_INODE
            } else {
                disk.s_first_ino.get()
            },
            seed,
            disk,
        };
        layout.groups = layout.check(size_bytes)?;
        Ok(layout)
    }

    /// Checks that sizes and counts fit each other. Returns the number of groups.
    fn check(&self, size_bytes: u64) -> Result<u32, ReadError> {
        let disk = &self.disk;
        let block_size = self.block_size();
        let has_room = self
            .blocks
            .checked_mul(block_size)
            .is_some_and(|end| end <= size_bytes);
        if !has_room {
            let fault = Fault::OutsideImage { size_bytes };
            return Err(Structure::SuperBlock.corrupt(SUPERBLOCK_OFFSET, fault));
        }
        let inode_size = u64::try_from(self.inode_bytes).unwrap_or(u64::MAX);
        let bits = 8 * block_size;
        let expect = |name, value: u64, holds: bool| {
            if holds {
                Ok(())
            } else {
                Err(field(name, value))
            }
        };
        let sound_inode = inode_size.is_power_of_two() && (128..=block_size).contains(&inode_size);
        expect("s_inode_size", inode_size, sound_inode)?;
        let descriptor = self.descriptor_bytes;
        let sound = descriptor.is_power_of_two() && (32..=1024).contains(&descriptor);
        let sound = sound && (descriptor >= 64 || !self.incompat.contains(Incompat::BITS_64));
        expect("s_desc_size", descriptor.into(), sound)?;
        let first = u64::from(disk.s_first_data_block.get());
        let per_group = u64::from(disk.s_blocks_per_group.get());
        let clusters = u64::from(disk.s_clusters_per_group.get());
        let ratio = if self.ro_compat.contains(RoCompat::BIGALLOC) {
            per_group.checked_div(clusters).unwrap_or(0)
        } else {
            1
        };
        let most = bits.saturating_mul(ratio);
        let sound = per_group >= 8 && per_group <= most;
        expect("s_blocks_per_group", per_group, sound)?;
        expect(
            "s_first_data_block",
            first,
            first <= 1 && first < self.blocks,
        )?;
        let inodes_per_group = u64::from(disk.s_inodes_per_group.get());
        let sound = (1..=bits).contains(&inodes_per_group);
        expect("s_inodes_per_group", inodes_per_group, sound)?;
        let groups = (self.blocks - first).div_ceil(per_group);
        let inodes = u64::from(disk.s_inodes_count.get());
        let sound = inodes_per_group.checked_mul(groups) == Some(inodes);
        expect("s_inodes_count", inodes, sound)?;
        let first_inode = u64::from(self.first_inode);
        expect(
            "s_first_ino",
            first_inode,
            (FIRST_INODE.into()..=inodes).contains(&first_inode),
        )?;
        u32::try_from(groups).map_err(|_| field("groups", groups))
    }

    pub(crate) fn has_checksums(&self) -> bool {
        self.ro_compat.contains(RoCompat::METADATA_CSUM)
    }

    /// Returns the size of a block, in bytes.
    pub(crate) fn block_size(&self) -> u64 {
        u64::try_from(self.block_bytes).expect("a block has 64 KiB at most")
    }

    pub(crate) fn blocks_per_group(&self) -> u64 {
        self.disk.s_blocks_per_group.get().into()
    }

    pub(crate) fn inodes_per_group(&self) -> u32 {
        self.disk.s_inodes_per_group.get()
    }

    pub(crate) fn first_block(&self, group: u32) -> u64 {
        u64::from(self.disk.s_first_data_block.get()) + u64::from(group) * self.blocks_per_group()
    }

    /// Returns the number of blocks in a group; the last group may be short.
    pub(crate) fn group_blocks(&self, group: u32) -> u64 {
        (self.blocks - self.first_block(group)).min(self.blocks_per_group())
    }

    /// Returns the number of blocks in one group's inode table.
    pub(crate) fn inode_table_blocks(&self) -> u64 {
        let inode_size = u64::try_from(self.inode_bytes).expect("checked");
        (u64::from(self.inodes_per_group()) * inode_size).div_ceil(self.block_size())
    }

    pub(crate) fn descriptors_per_block(&self) -> u32 {
        let bytes = u32::try_from(self.block_bytes).expect("64 KiB at most");
        bytes / u32::from(self.descriptor_bytes)
    }

    /// Returns the number of blocks that the descriptors of all groups fill.
    pub(crate) fn descriptor_blocks(&self) -> u32 {
        self.groups.div_ceil(self.descriptors_per_block())
    }

    /// Returns the block that holds the superblock.
    pub(crate) fn superblock_block(&self) -> u64 {
        SUPERBLOCK_OFFSET / self.block_size()
    }

    /// Returns the number of descriptor blocks that follow the superblock and its copies. With
    /// `META_BG` the other descriptor blocks are spread over the groups.
    pub(crate) fn descriptor_blocks_together(&self) -> u32 {
        if self.incompat.contains(Incompat::META_BG) {
            self.disk
                .s_first_meta_bg
                .get()
                .min(self.descriptor_blocks())
        } else {
            self.descriptor_blocks()
        }
    }

    /// Returns the block that holds a group's descriptor.
    pub(crate) fn descriptor_block(&self, group: u32) -> u64 {
        let index = group / self.descriptors_per_block();
        if index < self.descriptor_blocks_together() {
            return self.superblock_block() + 1 + u64::from(index);
        }
        let holder = index * self.descriptors_per_block();
        let lead = match holder {
            0 => self.superblock_block() + 1 - self.first_block(0),
            _ => u64::from(self.has_superblock(holder)),
        };
        self.first_block(holder) + lead
    }

    /// Returns true if a group has the superblock or a copy of it (`ext4_bg_has_super`).
    pub(crate) fn has_superblock(&self, group: u32) -> bool {
        if self.compat.contains(Compat::SPARSE_SUPER2) {
            let copies = self.disk.s_backup_bgs;
            return group == 0 || copies.iter().any(|copy| copy.get() == group);
        }
        !self.ro_compat.contains(RoCompat::SPARSE_SUPER) || has_superblock(group)
    }

    /// Returns true if these blocks are in the filesystem.
    pub(crate) fn holds(&self, start_block: u64, blocks: u64) -> bool {
        let end = start_block.checked_add(blocks);
        let first = self.first_block(0);
        start_block > 0 && start_block >= first && end.is_some_and(|end| end <= self.blocks)
    }
}

fn field(name: &'static str, value: impl Into<u64>) -> ReadError {
    let value = value.into();
    Structure::SuperBlock.corrupt(SUPERBLOCK_OFFSET, Fault::Field { name, value })
}

fn check_features(incompat: Incompat, ro_compat: RoCompat) -> Result<(), ReadError> {
    let bits = incompat.difference(Incompat::READ).bits();
    if bits != 0 {
        return Err(ReadError::Unsupported(Unsupported::Features { bits }));
    }
    if ro_compat.contains(RoCompat::SHARED_BLOCKS) {
        Err(ReadError::Unsupported(Unsupported::SharedBlocks))
    } else {
        Ok(())
    }
}

fn check_checksum(disk: &SuperBlock, ro_compat: RoCompat) -> Result<(), ReadError> {
    if !ro_compat.contains(RoCompat::METADATA_CSUM) {
        return Ok(());
    }
    if disk.s_checksum_type != CHECKSUM_CRC32C {
        return Err(field("s_checksum_type", disk.s_checksum_type));
    }
    let stored = disk.s_checksum.get();
    let covered = size_of::<SuperBlock>() - size_of_val(&disk.s_checksum);
    let computed = crc32c(START, &disk.as_bytes()[..covered]);
    if stored != computed {
        let fault = Fault::Checksum { stored, computed };
        return Err(Structure::SuperBlock.corrupt(SUPERBLOCK_OFFSET, fault));
    }
    Ok(())
}
