use crate::format::{BLOCK_SIZE, BLOCKS_PER_GROUP, INODE_BYTES};
use crate::length::length;
use crate::{Options, SIZE_MAX_BYTES, SIZE_MIN_BYTES, WriteError};

/// Number of groups whose bitmaps and inode tables lie together in the first of them.
pub(crate) const GROUPS_PER_FLEX: u32 = 16;
/// `s_log_groups_per_flex`: log2 of [`GROUPS_PER_FLEX`].
pub(crate) const LOG_GROUPS_PER_FLEX: u8 = 4;
/// Size of a group descriptor, in bytes.
const DESCRIPTOR_BYTES: u64 = 64;
/// Number of inodes in one block of an inode table.
const INODES_PER_BLOCK: u32 = 16;
/// Bytes of disk for each inode, as mke2fs chooses.
const BYTES_PER_INODE: u64 = 16 << 10;
/// Blocks that a short last group must have free besides its own metadata. As mke2fs does, a group
/// with fewer is left out.
const LAST_GROUP_MIN_FREE_BLOCKS: u64 = 50;
/// `JBD2_MIN_JOURNAL_BLOCKS`, in blocks.
const JOURNAL_MIN_BLOCKS: u64 = 1024;

/// Location of the fixed parts of an image. Blocks and groups count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) blocks: u64,
    pub(crate) groups: u32,
    pub(crate) inodes_per_group: u32,
    pub(crate) inode_table_blocks: u64,
    pub(crate) descriptor_blocks: u64,
    pub(crate) journal_blocks: u64,
}

impl Geometry {
    pub(crate) fn new(options: &Options) -> Result<Self, WriteError> {
        let size_bytes = options.size_bytes;
        if !(SIZE_MIN_BYTES..=SIZE_MAX_BYTES).contains(&size_bytes) {
            return Err(WriteError::Size { size_bytes });
        }
        let mut geometry = Self {
            blocks: size_bytes / BLOCK_SIZE,
            groups: 0,
            inodes_per_group: 0,
            inode_table_blocks: 0,
            descriptor_blocks: 0,
            journal_blocks: 0,
        };
        geometry.size_groups();
        if geometry.drop_useless_last_group() {
            geometry.size_groups();
        }
        geometry.journal_blocks = geometry.journal(options.journal_bytes)?;
        Ok(geometry)
    }

    fn size_groups(&mut self) {
        let per_group = u64::from(BLOCKS_PER_GROUP);
        self.groups = narrow(self.blocks.div_ceil(per_group));
        let inodes = self.blocks * BLOCK_SIZE / BYTES_PER_INODE;
        let inodes_per_group = inodes.div_ceil(u64::from(self.groups)).max(16);
        self.inodes_per_group = narrow(inodes_per_group).next_multiple_of(INODES_PER_BLOCK);
        let table_bytes = u64::from(self.inodes_per_group) * length(INODE_BYTES);
        self.inode_table_blocks = table_bytes / BLOCK_SIZE;
        self.descriptor_blocks = (u64::from(self.groups) * DESCRIPTOR_BYTES).div_ceil(BLOCK_SIZE);
    }

    /// Leaves out a last group that has room for little but its own metadata. Returns true if it
    /// did.
    fn drop_useless_last_group(&mut self) -> bool {
        let rest = self.blocks % u64::from(BLOCKS_PER_GROUP);
        let overhead = 3 + self.inode_table_blocks + self.descriptor_blocks;
        let useless = self.groups > 1 && rest > 0 && rest < overhead + LAST_GROUP_MIN_FREE_BLOCKS;
        if useless {
            self.blocks -= rest;
        }
        useless
    }

    /// Returns the journal's size, in blocks. The default is that of mke2fs, but at most 64 MiB,
    /// because a larger journal only helps many concurrent writers.
    fn journal(&self, wanted_bytes: Option<u64>) -> Result<u64, WriteError> {
        let by_size = match self.blocks {
            0..32_768 => JOURNAL_MIN_BLOCKS,
            32_768..262_144 => 4096,
            262_144..524_288 => 8192,
            _ => 16_384,
        };
        let most = self.group_blocks(0) - self.metadata_blocks(0) - self.group_blocks(0) / 16;
        match wanted_bytes {
            None => Ok(by_size),
            Some(bytes) if (JOURNAL_MIN_BLOCKS..=most).contains(&(bytes / BLOCK_SIZE)) => {
                Ok(bytes / BLOCK_SIZE)
            }
            Some(journal_bytes) => Err(WriteError::Journal {
                journal_bytes,
                minimum_bytes: JOURNAL_MIN_BLOCKS * BLOCK_SIZE,
                maximum_bytes: most * BLOCK_SIZE,
            }),
        }
    }

    pub(crate) fn first_block(&self, group: u32) -> u64 {
        u64::from(group) * u64::from(BLOCKS_PER_GROUP)
    }

    /// Returns the number of blocks in a group; the last group may be short.
    pub(crate) fn group_blocks(&self, group: u32) -> u64 {
        (self.blocks - self.first_block(group)).min(u64::from(BLOCKS_PER_GROUP))
    }

    /// Returns the number of blocks at the group's start that hold the superblock and the
    /// descriptors, or their copies.
    pub(crate) fn head_blocks(&self, group: u32) -> u64 {
        if has_superblock(group) {
            1 + self.descriptor_blocks
        } else {
            0
        }
    }

    /// Returns the number of blocks at the group's start that hold its own metadata and that of its
    /// flex group.
    pub(crate) fn metadata_blocks(&self, group: u32) -> u64 {
        let flex = if group.is_multiple_of(GROUPS_PER_FLEX) {
            u64::from(self.flex_groups(group)) * (2 + self.inode_table_blocks)
        } else {
            0
        };
        self.head_blocks(group) + flex
    }

    pub(crate) fn block_bitmap(&self, group: u32) -> u64 {
        let first = first_of_flex(group);
        self.first_block(first) + self.head_blocks(first) + u64::from(group - first)
    }

    pub(crate) fn inode_bitmap(&self, group: u32) -> u64 {
        let first = first_of_flex(group);
        self.block_bitmap(group) + u64::from(self.flex_groups(first))
    }

    pub(crate) fn inode_table(&self, group: u32) -> u64 {
        let first = first_of_flex(group);
        let bitmaps = 2 * u64::from(self.flex_groups(first));
        let before = u64::from(group - first) * self.inode_table_blocks;
        self.first_block(first) + self.head_blocks(first) + bitmaps + before
    }

    /// Returns the number of groups in the flex group that begins with `first`.
    fn flex_groups(&self, first: u32) -> u32 {
        (self.groups - first).min(GROUPS_PER_FLEX)
    }

    pub(crate) fn inodes(&self) -> u32 {
        self.groups.saturating_mul(self.inodes_per_group)
    }
}

fn first_of_flex(group: u32) -> u32 {
    group - group % GROUPS_PER_FLEX
}

/// Returns true if a group has the superblock or a copy (`ext4_bg_has_super` with `sparse_super`).
pub(crate) fn has_superblock(group: u32) -> bool {
    group <= 1 || [3, 5, 7].into_iter().any(|base| is_power(group, base))
}

fn is_power(number: u32, base: u32) -> bool {
    let mut rest = number;
    while rest > 1 && rest.is_multiple_of(base) {
        rest /= base;
    }
    rest == 1 && number > 1
}

fn narrow(value: u64) -> u32 {
    u32::try_from(value).expect("the size limit keeps groups and inodes below 2^32")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(size_bytes: u64) -> Geometry {
        Geometry::new(&Options {
            size_bytes,
            ..Options::default()
        })
        .expect("a valid size")
    }

    #[test]
    fn copies_of_the_superblock_are_sparse() {
        let with: Vec<u32> = (0..130).filter(|&group| has_superblock(group)).collect();
        assert_eq!(with, [0, 1, 3, 5, 7, 9, 25, 27, 49, 81, 125]);
    }

    #[test]
    fn metadata_fits_its_group_at_every_size() {
        for shift in 24..=44 {
            for extra in [0, 4096, 60 << 20, 100 << 20] {
                let Ok(geometry) = Geometry::new(&Options {
                    size_bytes: (1_u64 << shift) + extra,
                    ..Options::default()
                }) else {
                    continue;
                };
                for group in (0..geometry.groups).filter(|group| group % 16 == 0) {
                    let used = geometry.metadata_blocks(group);
                    assert!(used < geometry.group_blocks(group), "{geometry:?} {group}");
                }
                let used = geometry.metadata_blocks(0) + geometry.journal_blocks;
                assert!(used < geometry.group_blocks(0), "{geometry:?}");
            }
        }
    }

    #[test]
    fn a_last_group_without_room_is_left_out() {
        assert_eq!(geometry((128 << 20) + (4096 * 100)).blocks, 32_768);
        assert_eq!(geometry(256 << 20).groups, 2);
    }

    #[test]
    fn sizes_outside_the_limits_are_refused() {
        for size_bytes in [0, SIZE_MIN_BYTES - 1, SIZE_MAX_BYTES + 1] {
            let options = Options {
                size_bytes,
                ..Options::default()
            };
            assert!(matches!(
                Geometry::new(&options),
                Err(WriteError::Size { .. })
            ));
        }
    }
}
