use zerocopy::{FromZeros as _, IntoBytes as _, U16, U32};

use crate::checksum::{START, crc32c};
use crate::extent::ExtentTree;
use crate::features::{Compat, Incompat, RoCompat};
use crate::format::{
    BLOCK_SIZE, BLOCKS_PER_GROUP, CHECKSUM_CRC32C, EXTRA_ISIZE, FIRST_INODE, INODE_BYTES,
    JOURNAL_INODE, JOURNAL_MAGIC, JOURNAL_SUPERBLOCK_V2, JournalSuperBlock, MAGIC, SuperBlock,
    halves,
};
use crate::geometry::{Geometry, LOG_GROUPS_PER_FLEX};
use crate::{Options, WriteError};

const FEATURE_COMPAT: Compat = Compat::HAS_JOURNAL
    .union(Compat::EXT_ATTR)
    .union(Compat::DIR_INDEX);
const FEATURE_INCOMPAT: Incompat = Incompat::FILETYPE
    .union(Incompat::EXTENTS)
    .union(Incompat::BITS_64)
    .union(Incompat::FLEX_BG);
const FEATURE_RO_COMPAT: RoCompat = RoCompat::SPARSE_SUPER
    .union(RoCompat::LARGE_FILE)
    .union(RoCompat::HUGE_FILE)
    .union(RoCompat::DIR_NLINK)
    .union(RoCompat::EXTRA_ISIZE)
    .union(RoCompat::METADATA_CSUM);
/// `EXT4_DEFM_XATTR_USER | EXT4_DEFM_ACL`, the value of `s_default_mount_opts`.
const DEFAULT_MOUNT_OPTIONS: u32 = 0x4 | 0x8;
/// `EXT2_FLAGS_SIGNED_HASH`, the value of `s_flags`.
const SIGNED_HASH: u32 = 1;
/// `DX_HASH_HALF_MD4`, the value of `s_def_hash_version`.
const HALF_MD4: u8 = 1;

/// Superblock values that follow neither from the geometry nor from the options.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) free_blocks: u64,
    pub(crate) free_inodes: u32,
    pub(crate) journal: &'a ExtentTree,
}

/// Returns the superblock of group 0, without a checksum.
pub(crate) fn superblock(
    geometry: &Geometry,
    options: &Options,
    facts: &Facts<'_>,
) -> Result<SuperBlock, WriteError> {
    let mut sb = SuperBlock::new_zeroed();
    sb.s_inodes_count = U32::new(geometry.inodes());
    (sb.s_blocks_count_lo, sb.s_blocks_count_hi) = halves(geometry.blocks);
    (sb.s_free_blocks_count_lo, sb.s_free_blocks_count_hi) = halves(facts.free_blocks);
    sb.s_free_inodes_count = U32::new(facts.free_inodes);
    sb.s_log_block_size = U32::new(2);
    sb.s_log_cluster_size = U32::new(2);
    sb.s_blocks_per_group = U32::new(BLOCKS_PER_GROUP);
    sb.s_clusters_per_group = U32::new(BLOCKS_PER_GROUP);
    sb.s_inodes_per_group = U32::new(geometry.inodes_per_group);
    sb.s_max_mnt_count = U16::new(u16::MAX);
    sb.s_magic = U16::new(MAGIC);
    // `EXT4_VALID_FS` and `EXT4_ERRORS_CONTINUE`, the defaults of mke2fs.
    sb.s_state = U16::new(1);
    sb.s_errors = U16::new(1);
    sb.s_rev_level = U32::new(1);
    sb.s_first_ino = U32::new(FIRST_INODE);
    sb.s_inode_size = U16::new(u16::try_from(INODE_BYTES).expect("256"));
    sb.s_feature_compat = U32::new(FEATURE_COMPAT.bits());
    sb.s_feature_incompat = U32::new(FEATURE_INCOMPAT.bits());
    sb.s_feature_ro_compat = U32::new(FEATURE_RO_COMPAT.bits());
    sb.s_uuid = options.uuid;
    sb.s_volume_name = label(&options.label)?;
    sb.s_journal_inum = U32::new(JOURNAL_INODE);
    sb.s_hash_seed = options.hash_seed;
    sb.s_def_hash_version = HALF_MD4;
    sb.s_flags = U32::new(SIGNED_HASH);
    sb.s_desc_size = U16::new(64);
    sb.s_default_mount_opts = U32::new(DEFAULT_MOUNT_OPTIONS);
    sb.s_min_extra_isize = U16::new(EXTRA_ISIZE);
    sb.s_want_extra_isize = U16::new(EXTRA_ISIZE);
    sb.s_log_groups_per_flex = LOG_GROUPS_PER_FLEX;
    sb.s_checksum_type = CHECKSUM_CRC32C;
    // e2fsck restores the journal's inode from this copy.
    sb.s_jnl_backup_type = 1;
    for (copy, original) in sb.s_jnl_blocks.iter_mut().zip(facts.journal.i_block) {
        *copy = U32::from_bytes(original);
    }
    let (size_low, size_high) = halves(geometry.journal_blocks * BLOCK_SIZE);
    sb.s_jnl_blocks[15] = size_high;
    sb.s_jnl_blocks[16] = size_low;
    Ok(sb)
}

fn label(text: &str) -> Result<[u8; 16], WriteError> {
    let mut label = [0; 16];
    match label.get_mut(..text.len()) {
        Some(room) => room.copy_from_slice(text.as_bytes()),
        None => {
            return Err(WriteError::Label {
                length_bytes: text.len(),
            });
        }
    }
    Ok(label)
}

/// Returns the superblock, or its copy, for `group`.
pub(crate) fn in_group(superblock: &SuperBlock, group: u32) -> SuperBlock {
    let mut copy = superblock.clone();
    // The field has 16 bits; e2fsck compares no more of the group's number.
    copy.s_block_group_nr = crate::format::half_words(group).0;
    let covered = copy.as_bytes().len() - size_of_val(&copy.s_checksum);
    copy.s_checksum = U32::new(crc32c(START, &copy.as_bytes()[..covered]));
    copy
}

/// Returns the superblock of an empty journal.
pub(crate) fn journal_superblock(geometry: &Geometry, uuid: [u8; 16]) -> JournalSuperBlock {
    let narrow = |value: u64| u32::try_from(value).expect("a journal fits a group");
    let mut sb = JournalSuperBlock::new_zeroed();
    sb.h_magic.set(JOURNAL_MAGIC);
    sb.h_blocktype.set(JOURNAL_SUPERBLOCK_V2);
    sb.s_blocksize.set(narrow(BLOCK_SIZE));
    sb.s_maxlen.set(narrow(geometry.journal_blocks));
    sb.s_first.set(1);
    sb.s_sequence.set(1);
    sb.s_uuid = uuid;
    sb.s_nr_users.set(1);
    sb
}
