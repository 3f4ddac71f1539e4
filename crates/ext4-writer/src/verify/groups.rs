use std::collections::BTreeSet;

use super::ledger::Ledger;
use super::{Region, Usage, VerifyError, check_count, inconsistent};
use crate::checksum::crc32c;
use crate::features::{Incompat, RoCompat};
use crate::format::{BG_BLOCK_UNINIT, BG_INODE_UNINIT, SUPERBLOCK_OFFSET};
use crate::read::{Fault, Group, Image, ReadAt, Structure};

/// Unused blocks and inodes of all groups.
#[derive(Debug, Default)]
struct Free {
    blocks: u64,
    inodes: u64,
}

impl<R: ReadAt> Image<R> {
    /// Checks the bitmaps and the counts of every group, then the counts of the superblock.
    pub(super) fn check_groups(&self, usage: &Usage, ledger: &Ledger) -> Result<(), VerifyError> {
        usage.check_xattr_blocks(self)?;
        let layout = &self.layout;
        let mut inodes: BTreeSet<u32> = (1..layout.first_inode).collect();
        inodes.extend(&ledger.inodes);
        inodes.extend(&usage.hidden);
        let mut free = Free::default();
        for number in 0..layout.groups {
            let group = self.group(number)?;
            let place = (
                Structure::Descriptor(number),
                layout.descriptor_block(number) * layout.block_size(),
            );
            let used = self.check_block_bitmap(number, &group, &usage.regions)?;
            let free_blocks = layout.group_blocks(number) - used;
            check_count(place, "free blocks", group.free_blocks.into(), free_blocks)?;
            let used = self.check_inode_bitmap(number, &group, &inodes)?;
            let free_inodes = u64::from(layout.inodes_per_group()) - used;
            check_count(place, "free inodes", group.free_inodes.into(), free_inodes)?;
            let directories = ledger.directories.range(self.inodes_of(number)).count();
            let directories = u64::try_from(directories).unwrap_or(u64::MAX);
            check_count(
                place,
                "directories",
                group.used_directories.into(),
                directories,
            )?;
            free.blocks += free_blocks;
            free.inodes += free_inodes;
        }
        self.check_superblock(&free)
    }

    /// Checks the counts of the superblock. The kernel writes them when it unmounts, not with each
    /// transaction.
    fn check_superblock(&self, free: &Free) -> Result<(), VerifyError> {
        if self.layout.incompat.contains(Incompat::RECOVER) {
            return Ok(());
        }
        let superblock = self.superblock();
        let place = (Structure::SuperBlock, SUPERBLOCK_OFFSET);
        check_count(place, "free blocks", superblock.free_blocks, free.blocks)?;
        let stored = superblock.free_inodes.into();
        check_count(place, "free inodes", stored, free.inodes)
    }

    fn inodes_of(&self, group: u32) -> std::ops::RangeInclusive<u32> {
        let per_group = self.layout.inodes_per_group();
        group * per_group + 1..=(group + 1) * per_group
    }

    /// Compares a group's bitmap with the blocks in use. Returns the number of blocks in use.
    fn check_block_bitmap(
        &self,
        number: u32,
        group: &Group,
        regions: &[Region],
    ) -> Result<u64, VerifyError> {
        let layout = &self.layout;
        let first = layout.first_block(number);
        let blocks = layout.group_blocks(number);
        let next = regions.partition_point(|region| region.end() <= first);
        let mut used = Bits::new(blocks);
        for region in &regions[next..] {
            if region.start_block >= first + blocks {
                break;
            }
            let start = region.start_block.max(first) - first;
            let end = region.end().min(first + blocks) - first;
            (start..end).for_each(|bit| used.set(bit));
        }
        let has_flags = self.has_group_checksums();
        if has_flags && group.flags & BG_BLOCK_UNINIT != 0 {
            return Ok(used.count());
        }
        let bytes = self.blocks.block(group.block_bitmap)?;
        let place = (
            Structure::BlockBitmap(number),
            group.block_bitmap * layout.block_size(),
        );
        used.compare(&bytes, "block", place)?;
        let covered = layout.blocks_per_group() / 8;
        self.check_bitmap_checksum(&bytes, covered, group.block_bitmap_csum, place)?;
        Ok(used.count())
    }

    /// Compares a group's bitmap with the inodes in use. Returns the number of inodes in use.
    fn check_inode_bitmap(
        &self,
        number: u32,
        group: &Group,
        inodes: &BTreeSet<u32>,
    ) -> Result<u64, VerifyError> {
        let layout = &self.layout;
        let range = self.inodes_of(number);
        let first = *range.start();
        let mut used = Bits::new(layout.inodes_per_group().into());
        inodes
            .range(range)
            .for_each(|inode| used.set(u64::from(inode - first)));
        let place = (
            Structure::InodeBitmap(number),
            group.inode_bitmap * layout.block_size(),
        );
        if self.has_group_checksums() && group.flags & BG_INODE_UNINIT != 0 {
            check_count(place, "inodes", 0, used.count())?;
            return Ok(0);
        }
        let bytes = self.blocks.block(group.inode_bitmap)?;
        used.compare(&bytes, "inode", place)?;
        let covered = u64::from(layout.inodes_per_group()) / 8;
        self.check_bitmap_checksum(&bytes, covered, group.inode_bitmap_csum, place)?;
        Ok(used.count())
    }

    /// Returns true if descriptors have checksums; only then do their flags have a meaning.
    fn has_group_checksums(&self) -> bool {
        let either = RoCompat::METADATA_CSUM | RoCompat::GDT_CSUM;
        self.layout.ro_compat.intersects(either)
    }

    fn check_bitmap_checksum(
        &self,
        bytes: &[u8],
        covered_bytes: u64,
        stored: u32,
        place: (Structure, u64),
    ) -> Result<(), VerifyError> {
        if !self.layout.has_checksums() {
            return Ok(());
        }
        let covered = usize::try_from(covered_bytes).unwrap_or(usize::MAX);
        let mask = match self.layout.descriptor_bytes {
            0..64 => 0xffff,
            _ => u32::MAX,
        };
        let computed = crc32c(self.layout.seed, &bytes[..covered.min(bytes.len())]) & mask;
        if stored == computed {
            return Ok(());
        }
        Err(inconsistent(
            place.0,
            place.1,
            Fault::Checksum { stored, computed },
        ))
    }
}

/// A bitmap with the expected bits.
struct Bits {
    bytes: Vec<u8>,
    valid: u64,
}

impl Bits {
    fn new(valid: u64) -> Self {
        let length = usize::try_from(valid.div_ceil(8)).expect("a group has 2^19 blocks at most");
        Self {
            bytes: vec![0; length],
            valid,
        }
    }

    fn set(&mut self, bit: u64) {
        let byte = usize::try_from(bit / 8).expect("within the bitmap");
        self.bytes[byte] |= 1 << (bit % 8);
    }

    fn count(&self) -> u64 {
        self.bytes
            .iter()
            .map(|byte| u64::from(byte.count_ones()))
            .sum()
    }

    /// Finds the first difference from a stored bitmap. Bits past `valid` have no meaning.
    fn compare(
        &self,
        stored: &[u8],
        name: &'static str,
        place: (Structure, u64),
    ) -> Result<(), VerifyError> {
        for (byte, (ours, theirs)) in (0..).zip(self.bytes.iter().zip(stored)) {
            let different = ours ^ theirs;
            if different == 0 {
                continue;
            }
            let number: u64 = byte * 8 + u64::from(different.trailing_zeros());
            if number < self.valid {
                return Err(inconsistent(place.0, place.1, Fault::Bit { name, number }));
            }
        }
        Ok(())
    }
}
