use zerocopy::{IntoBytes as _, U16, U32};

use super::emitter::Emitter;
use super::summary::Summary;
use crate::checksum::crc32c;
use crate::extent::ExtentTree;
use crate::format::{
    BG_BLOCK_UNINIT, BG_INODE_UNINIT, BG_INODE_ZEROED, BLOCK_BYTES, BLOCK_SIZE, GroupDescriptor,
    SUPERBLOCK_OFFSET, half_words, halves,
};
use crate::geometry::has_superblock;
use crate::length::{index_of, length};
use crate::superblock::{self, Facts};
use crate::{Options, SparseOutput, WriteError};

/// Writes the metadata of the groups, once every block and inode has its place.
pub(super) struct GroupWriter<'a, 'b, O> {
    emitter: &'a mut Emitter<'b, O>,
    /// Number of the last inode in use.
    last_inode: u32,
    /// Number of directories, by group.
    directories: &'a [u32],
}

impl<'a, 'b, O: SparseOutput> GroupWriter<'a, 'b, O> {
    /// Returns a writer of groups of which inodes up to `last_inode` are in use.
    pub(super) fn new(
        emitter: &'a mut Emitter<'b, O>,
        last_inode: u32,
        directories: &'a [u32],
    ) -> Self {
        Self {
            emitter,
            last_inode,
            directories,
        }
    }

    /// Writes the bitmaps, then the descriptors and superblocks with all their copies.
    pub(super) fn write(
        &mut self,
        options: &Options,
        journal: &ExtentTree,
    ) -> Result<Summary, WriteError> {
        let geometry = self.emitter.geometry;
        let mut descriptors = Vec::new();
        for group in 0..geometry.groups {
            let descriptor = self.write_bitmaps(group)?;
            descriptors.extend_from_slice(descriptor.as_bytes());
        }
        let facts = Facts {
            free_blocks: self.emitter.space.free(),
            free_inodes: geometry.inodes() - self.last_inode,
            journal,
        };
        let superblock = superblock::superblock(geometry, options, &facts)?;
        for group in (0..geometry.groups).filter(|&group| has_superblock(group)) {
            let first = geometry.first_block(group) * BLOCK_SIZE;
            let offset = if group == 0 { SUPERBLOCK_OFFSET } else { 0 };
            self.emitter.put(
                superblock::in_group(&superblock, group).as_bytes(),
                first + offset,
            )?;
            self.emitter.put(&descriptors, first + BLOCK_SIZE)?;
        }
        Ok(Summary {
            blocks: geometry.blocks,
            free_blocks: facts.free_blocks,
            inodes: geometry.inodes(),
        })
    }

    fn write_bitmaps(&mut self, group: u32) -> Result<GroupDescriptor, WriteError> {
        let geometry = self.emitter.geometry;
        let used_blocks = self.emitter.space.used(group);
        let group_blocks = geometry.group_blocks(group);
        let before = group * geometry.inodes_per_group;
        let used_inodes = self
            .last_inode
            .saturating_sub(before)
            .min(geometry.inodes_per_group);
        let mut descriptor = self.descriptor(group, used_blocks, used_inodes);
        let mut flags = BG_INODE_ZEROED;
        // The kernel computes such a bitmap itself. The last group's is written, because that group
        // may be short and the kernel must not guess its end.
        let is_last = group + 1 == geometry.groups;
        if used_blocks == geometry.head_blocks(group) && !is_last {
            flags |= BG_BLOCK_UNINIT;
        } else {
            let bitmap = bitmap(used_blocks, group_blocks);
            self.emitter
                .put(&bitmap, geometry.block_bitmap(group) * BLOCK_SIZE)?;
            let csum = half_words(crc32c(self.emitter.seed, &bitmap));
            (
                descriptor.bg_block_bitmap_csum_lo,
                descriptor.bg_block_bitmap_csum_hi,
            ) = csum;
        }
        if used_inodes == 0 {
            flags |= BG_INODE_UNINIT;
        } else {
            let bitmap = bitmap(u64::from(used_inodes), u64::from(geometry.inodes_per_group));
            self.emitter
                .put(&bitmap, geometry.inode_bitmap(group) * BLOCK_SIZE)?;
            let covered = index_of(u64::from(geometry.inodes_per_group / 8));
            let csum = half_words(crc32c(self.emitter.seed, &bitmap[..covered]));
            (
                descriptor.bg_inode_bitmap_csum_lo,
                descriptor.bg_inode_bitmap_csum_hi,
            ) = csum;
        }
        descriptor.bg_flags = U16::new(flags);
        let crc = crc32c(
            crc32c(self.emitter.seed, &group.to_le_bytes()),
            descriptor.as_bytes(),
        );
        descriptor.bg_checksum = half_words(crc).0;
        Ok(descriptor)
    }

    fn descriptor(&self, group: u32, used_blocks: u64, used_inodes: u32) -> GroupDescriptor {
        let geometry = self.emitter.geometry;
        let mut descriptor = GroupDescriptor::default();
        let free_blocks = geometry.group_blocks(group) - used_blocks;
        let free_blocks = u32::try_from(free_blocks).expect("a group has 32768 blocks");
        let free_inodes = geometry.inodes_per_group - used_inodes;
        let directories = self.directories[index_of(u64::from(group))];
        (descriptor.bg_block_bitmap_lo, descriptor.bg_block_bitmap_hi) =
            halves(geometry.block_bitmap(group));
        (descriptor.bg_inode_bitmap_lo, descriptor.bg_inode_bitmap_hi) =
            halves(geometry.inode_bitmap(group));
        (descriptor.bg_inode_table_lo, descriptor.bg_inode_table_hi) =
            halves(geometry.inode_table(group));
        (
            descriptor.bg_free_blocks_count_lo,
            descriptor.bg_free_blocks_count_hi,
        ) = half_words(free_blocks);
        (
            descriptor.bg_free_inodes_count_lo,
            descriptor.bg_free_inodes_count_hi,
        ) = half_words(free_inodes);
        (
            descriptor.bg_itable_unused_lo,
            descriptor.bg_itable_unused_hi,
        ) = half_words(free_inodes);
        (
            descriptor.bg_used_dirs_count_lo,
            descriptor.bg_used_dirs_count_hi,
        ) = half_words(directories);
        descriptor.bg_reserved = U32::new(0);
        descriptor
    }
}

/// Returns a block of bits. The first `used` are set, and so are those past `valid`, which have no
/// meaning.
fn bitmap(used: u64, valid: u64) -> Vec<u8> {
    let mut bytes = vec![0_u8; BLOCK_BYTES];
    for (index, byte) in bytes.iter_mut().enumerate() {
        let first = length(index) * 8;
        for bit in 0..8_u8 {
            let number = first + u64::from(bit);
            if number < used || number >= valid {
                *byte |= 1 << bit;
            }
        }
    }
    bytes
}
