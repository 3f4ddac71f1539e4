//! On-disk structures, with the field names of the kernel's headers.

use zerocopy::byteorder::{BE, LE};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, U16, U32, U64, Unaligned};

/// Block size of a written image, in bytes.
pub(crate) const BLOCK_BYTES: usize = 4096;
/// Block size of a written image, in bytes, for offsets in the image.
pub(crate) const BLOCK_SIZE: u64 = 4096;
/// `s_blocks_per_group` of a written image: the number of blocks that one block of bitmap covers.
pub(crate) const BLOCKS_PER_GROUP: u32 = 32_768;
/// `s_inode_size` of a written image, in bytes.
pub(crate) const INODE_BYTES: usize = 256;
/// `EXT4_GOOD_OLD_INODE_SIZE`, in bytes: an inode without extra fields.
pub(crate) const OLD_INODE_BYTES: usize = 128;
/// `s_want_extra_isize` of a written image: the bytes of fields past the first 128.
pub(crate) const EXTRA_ISIZE: u16 = 32;
/// First inode that is not reserved (`EXT4_GOOD_OLD_FIRST_INO`).
pub(crate) const FIRST_INODE: u32 = 11;
/// `EXT4_ROOT_INO`: the root directory.
pub(crate) const ROOT_INODE: u32 = 2;
/// `EXT4_RESIZE_INO`: maps the blocks that are reserved for further descriptors.
pub(crate) const RESIZE_INODE: u32 = 7;
/// `EXT4_JOURNAL_INO`: the journal of a written image.
pub(crate) const JOURNAL_INODE: u32 = 8;
/// `EXT4_SUPER_MAGIC`, the value of `s_magic`.
pub(crate) const MAGIC: u16 = 0xef53;
/// `EXT4_CRC32C_CHKSUM`, the value of `s_checksum_type`.
pub(crate) const CHECKSUM_CRC32C: u8 = 1;
/// Offset of the first superblock, in bytes from the start of the image.
pub(crate) const SUPERBLOCK_OFFSET: u64 = 1024;

/// `struct ext4_super_block` (fs/ext4/ext4.h); sizes in blocks unless stated otherwise.
#[derive(Debug, Clone, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct SuperBlock {
    pub(crate) s_inodes_count: U32<LE>,
    pub(crate) s_blocks_count_lo: U32<LE>,
    pub(crate) s_r_blocks_count_lo: U32<LE>,
    pub(crate) s_free_blocks_count_lo: U32<LE>,

    pub(crate) s_free_inodes_count: U32<LE>,
    pub(crate) s_first_data_block: U32<LE>,
    /// log2 of the block size in KiB.
    pub(crate) s_log_block_size: U32<LE>,
    pub(crate) s_log_cluster_size: U32<LE>,

    pub(crate) s_blocks_per_group: U32<LE>,
    pub(crate) s_clusters_per_group: U32<LE>,
    pub(crate) s_inodes_per_group: U32<LE>,
    pub(crate) s_mtime: U32<LE>,

    pub(crate) s_wtime: U32<LE>,
    pub(crate) s_mnt_count: U16<LE>,
    pub(crate) s_max_mnt_count: U16<LE>,
    pub(crate) s_magic: U16<LE>,
    pub(crate) s_state: U16<LE>,
    pub(crate) s_errors: U16<LE>,
    pub(crate) s_minor_rev_level: U16<LE>,

    pub(crate) s_lastcheck: U32<LE>,
    pub(crate) s_checkinterval: U32<LE>,
    pub(crate) s_creator_os: U32<LE>,
    pub(crate) s_rev_level: U32<LE>,

    pub(crate) s_def_resuid: U16<LE>,
    pub(crate) s_def_resgid: U16<LE>,
    pub(crate) s_first_ino: U32<LE>,
    pub(crate) s_inode_size: U16<LE>,
    pub(crate) s_block_group_nr: U16<LE>,
    pub(crate) s_feature_compat: U32<LE>,

    pub(crate) s_feature_incompat: U32<LE>,
    pub(crate) s_feature_ro_compat: U32<LE>,
    pub(crate) s_uuid: [u8; 16],
    pub(crate) s_volume_name: [u8; 16],
    pub(crate) s_last_mounted: [u8; 64],
    pub(crate) s_algorithm_usage_bitmap: U32<LE>,
    pub(crate) s_prealloc_blocks: u8,
    pub(crate) s_prealloc_dir_blocks: u8,
    pub(crate) s_reserved_gdt_blocks: U16<LE>,

    pub(crate) s_journal_uuid: [u8; 16],
    pub(crate) s_journal_inum: U32<LE>,
    pub(crate) s_journal_dev: U32<LE>,
    pub(crate) s_last_orphan: U32<LE>,
    pub(crate) s_hash_seed: [u8; 16],
    pub(crate) s_def_hash_version: u8,
    pub(crate) s_jnl_backup_type: u8,
    /// Size of a group descriptor, in bytes.
    pub(crate) s_desc_size: U16<LE>,

    pub(crate) s_default_mount_opts: U32<LE>,
    pub(crate) s_first_meta_bg: U32<LE>,
    pub(crate) s_mkfs_time: U32<LE>,
    /// `i_block` of the journal's inode, then the two halves of its `i_size`, high first.
    pub(crate) s_jnl_blocks: [U32<LE>; 17],
    pub(crate) s_blocks_count_hi: U32<LE>,
    pub(crate) s_r_blocks_count_hi: U32<LE>,
    pub(crate) s_free_blocks_count_hi: U32<LE>,
    /// Bytes past the first 128 that every inode has.
    pub(crate) s_min_extra_isize: U16<LE>,
    /// Bytes past the first 128 that new inodes get.
    pub(crate) s_want_extra_isize: U16<LE>,

    pub(crate) s_flags: U32<LE>,
    pub(crate) s_raid_stride: U16<LE>,
    pub(crate) s_mmp_update_interval: U16<LE>,
    pub(crate) s_mmp_block: U64<LE>,
    pub(crate) s_raid_stripe_width: U32<LE>,
    pub(crate) s_log_groups_per_flex: u8,
    pub(crate) s_checksum_type: u8,
    pub(crate) s_reserved_pad: U16<LE>,
    pub(crate) s_kbytes_written: U64<LE>,
    /// Snapshots, error records and mount options; all zero in a written image.
    pub(crate) unused_features: [u8; 0x240 - 0x180],
    pub(crate) s_usr_quota_inum: U32<LE>,
    pub(crate) s_grp_quota_inum: U32<LE>,
    pub(crate) s_overhead_clusters: U32<LE>,
    pub(crate) s_backup_bgs: [U32<LE>; 2],
    /// `s_encrypt_algos` and `s_encrypt_pw_salt`.
    pub(crate) s_encrypt: [u8; 0x268 - 0x254],
    pub(crate) s_lpf_ino: U32<LE>,
    pub(crate) s_prj_quota_inum: U32<LE>,
    pub(crate) s_checksum_seed: U32<LE>,
    /// High bytes of times, error codes and the encoding of names.
    pub(crate) unused_times: [u8; 0x280 - 0x274],
    pub(crate) s_orphan_file_inum: U32<LE>,
    pub(crate) s_reserved: [u8; 0x3fc - 0x284],
    pub(crate) s_checksum: U32<LE>,
}
const _: () = assert!(size_of::<SuperBlock>() == 1024);
const _: () = assert!(std::mem::offset_of!(SuperBlock, s_uuid) == 0x68);
const _: () = assert!(std::mem::offset_of!(SuperBlock, s_journal_inum) == 0xe0);
const _: () = assert!(std::mem::offset_of!(SuperBlock, s_jnl_blocks) == 0x10c);
const _: () = assert!(std::mem::offset_of!(SuperBlock, s_log_groups_per_flex) == 0x174);
const _: () = assert!(std::mem::offset_of!(SuperBlock, s_checksum_seed) == 0x270);
const _: () = assert!(std::mem::offset_of!(SuperBlock, s_orphan_file_inum) == 0x280);

/// `struct ext4_group_desc` in its form of 64 bytes (fs/ext4/ext4.h).
#[derive(Debug, Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct GroupDescriptor {
    pub(crate) bg_block_bitmap_lo: U32<LE>,
    pub(crate) bg_inode_bitmap_lo: U32<LE>,
    pub(crate) bg_inode_table_lo: U32<LE>,
    pub(crate) bg_free_blocks_count_lo: U16<LE>,
    pub(crate) bg_free_inodes_count_lo: U16<LE>,

    pub(crate) bg_used_dirs_count_lo: U16<LE>,
    pub(crate) bg_flags: U16<LE>,
    pub(crate) bg_exclude_bitmap_lo: U32<LE>,
    pub(crate) bg_block_bitmap_csum_lo: U16<LE>,
    pub(crate) bg_inode_bitmap_csum_lo: U16<LE>,
    pub(crate) bg_itable_unused_lo: U16<LE>,
    pub(crate) bg_checksum: U16<LE>,

    pub(crate) bg_block_bitmap_hi: U32<LE>,
    pub(crate) bg_inode_bitmap_hi: U32<LE>,
    pub(crate) bg_inode_table_hi: U32<LE>,
    pub(crate) bg_free_blocks_count_hi: U16<LE>,
    pub(crate) bg_free_inodes_count_hi: U16<LE>,

    pub(crate) bg_used_dirs_count_hi: U16<LE>,
    pub(crate) bg_itable_unused_hi: U16<LE>,
    pub(crate) bg_exclude_bitmap_hi: U32<LE>,
    pub(crate) bg_block_bitmap_csum_hi: U16<LE>,
    pub(crate) bg_inode_bitmap_csum_hi: U16<LE>,
    pub(crate) bg_reserved: U32<LE>,
}
const _: () = assert!(size_of::<GroupDescriptor>() == 64);
const _: () = assert!(std::mem::offset_of!(GroupDescriptor, bg_checksum) == 0x1e);

/// `bg_flags`: the inode bitmap and table are not initialised (`EXT4_BG_INODE_UNINIT`).
pub(crate) const BG_INODE_UNINIT: u16 = 1;
/// `bg_flags`: the block bitmap is not initialised (`EXT4_BG_BLOCK_UNINIT`).
pub(crate) const BG_BLOCK_UNINIT: u16 = 2;
/// `bg_flags`: the inode table reads as zeros (`EXT4_BG_INODE_ZEROED`).
pub(crate) const BG_INODE_ZEROED: u16 = 4;

/// `struct ext4_inode` up to `i_projid` (fs/ext4/ext4.h); xattrs follow up to 256 bytes.
#[derive(Debug, Clone, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Inode {
    pub(crate) i_mode: U16<LE>,
    pub(crate) i_uid: U16<LE>,
    pub(crate) i_size_lo: U32<LE>,
    pub(crate) i_atime: U32<LE>,
    pub(crate) i_ctime: U32<LE>,

    pub(crate) i_mtime: U32<LE>,
    pub(crate) i_dtime: U32<LE>,
    pub(crate) i_gid: U16<LE>,
    pub(crate) i_links_count: U16<LE>,
    /// Number of 512-byte sectors, or of blocks with `EXT4_HUGE_FILE_FL`.
    pub(crate) i_blocks_lo: U32<LE>,

    pub(crate) i_flags: U32<LE>,
    pub(crate) l_i_version: U32<LE>,
    /// Root of an extent tree or block map, inline data, a fast symlink's target or a device
    /// number.
    pub(crate) i_block: [[u8; 4]; 15],
    pub(crate) i_generation: U32<LE>,
    pub(crate) i_file_acl_lo: U32<LE>,
    pub(crate) i_size_high: U32<LE>,
    pub(crate) i_obso_faddr: U32<LE>,
    pub(crate) l_i_blocks_high: U16<LE>,
    pub(crate) l_i_file_acl_high: U16<LE>,
    pub(crate) l_i_uid_high: U16<LE>,
    pub(crate) l_i_gid_high: U16<LE>,
    pub(crate) l_i_checksum_lo: U16<LE>,
    pub(crate) l_i_reserved: U16<LE>,

    pub(crate) i_extra_isize: U16<LE>,
    pub(crate) i_checksum_hi: U16<LE>,
    pub(crate) i_ctime_extra: U32<LE>,
    pub(crate) i_mtime_extra: U32<LE>,
    pub(crate) i_atime_extra: U32<LE>,
    pub(crate) i_crtime: U32<LE>,
    pub(crate) i_crtime_extra: U32<LE>,
    pub(crate) i_version_hi: U32<LE>,
    pub(crate) i_projid: U32<LE>,
}
const _: () = assert!(size_of::<Inode>() == 160);
const _: () = assert!(std::mem::offset_of!(Inode, l_i_checksum_lo) == 0x7c);
const _: () = assert!(std::mem::offset_of!(Inode, i_checksum_hi) == 0x82);

/// `i_flags`: `i_block` holds extents (`EXT4_EXTENTS_FL`).
pub(crate) const EXTENTS_FL: u32 = 0x8_0000;
/// `i_flags`: content and names are encrypted (`EXT4_ENCRYPT_FL`).
pub(crate) const ENCRYPT_FL: u32 = 0x800;
/// `i_flags`: the directory is a hash tree (`EXT4_INDEX_FL`).
pub(crate) const INDEX_FL: u32 = 0x1000;
/// `i_flags`: `i_blocks` counts blocks, not sectors (`EXT4_HUGE_FILE_FL`).
pub(crate) const HUGE_FILE_FL: u32 = 0x4_0000;
/// `i_flags`: the content is protected by fs-verity (`EXT4_VERITY_FL`).
pub(crate) const VERITY_FL: u32 = 0x10_0000;
/// `i_flags`: the content is the value of one xattr (`EXT4_EA_INODE_FL`).
pub(crate) const EA_INODE_FL: u32 = 0x20_0000;
/// `i_flags`: the content begins in `i_block` (`EXT4_INLINE_DATA_FL`).
pub(crate) const INLINE_DATA_FL: u32 = 0x1000_0000;
/// `i_flags`: names are looked up without regard to case (`EXT4_CASEFOLD_FL`).
pub(crate) const CASEFOLD_FL: u32 = 0x4000_0000;

/// `struct ext4_extent_header` (fs/ext4/ext4_extents.h).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct ExtentHeader {
    pub(crate) eh_magic: U16<LE>,
    pub(crate) eh_entries: U16<LE>,
    pub(crate) eh_max: U16<LE>,
    pub(crate) eh_depth: U16<LE>,
    pub(crate) eh_generation: U32<LE>,
}
const _: () = assert!(size_of::<ExtentHeader>() == 12);

/// `EXT4_EXT_MAGIC`, the value of `eh_magic`.
pub(crate) const EXTENT_MAGIC: u16 = 0xf30a;

/// `struct ext4_extent` (fs/ext4/ext4_extents.h); in blocks.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Extent {
    pub(crate) ee_block: U32<LE>,
    pub(crate) ee_len: U16<LE>,
    pub(crate) ee_start_hi: U16<LE>,
    pub(crate) ee_start_lo: U32<LE>,
}
const _: () = assert!(size_of::<Extent>() == 12);

/// `EXT_INIT_MAX_LEN`: an extent with a larger `ee_len` is allocated and not written.
pub(crate) const EXTENT_WRITTEN_MAX: u16 = 32_768;

/// `struct ext4_extent_idx` (fs/ext4/ext4_extents.h); in blocks.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct ExtentIndex {
    pub(crate) ei_block: U32<LE>,
    pub(crate) ei_leaf_lo: U32<LE>,
    pub(crate) ei_leaf_hi: U16<LE>,
    pub(crate) ei_unused: U16<LE>,
}
const _: () = assert!(size_of::<ExtentIndex>() == 12);

/// `EXT4_FT_DIR_CSUM`: the file type in the tail of a directory's block.
pub(crate) const TAIL_FILE_TYPE: u8 = 0xde;

/// `struct ext4_dir_entry_2` without its name (fs/ext4/ext4.h).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct DirEntryHead {
    pub(crate) inode: U32<LE>,
    /// Distance to the next entry, in bytes.
    pub(crate) rec_len: U16<LE>,
    pub(crate) name_len: u8,
    pub(crate) file_type: u8,
}
const _: () = assert!(size_of::<DirEntryHead>() == 8);

/// `struct ext4_dir_entry_tail` (fs/ext4/ext4.h): the checksum at the end of a directory's block.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct DirEntryTail {
    pub(crate) det_reserved_zero1: U32<LE>,
    pub(crate) det_rec_len: U16<LE>,
    pub(crate) det_reserved_zero2: u8,
    pub(crate) det_reserved_ft: u8,
    pub(crate) det_checksum: U32<LE>,
}
const _: () = assert!(size_of::<DirEntryTail>() == 12);

/// `struct ext4_xattr_header` (fs/ext4/xattr.h).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct XattrHeader {
    pub(crate) h_magic: U32<LE>,
    pub(crate) h_refcount: U32<LE>,
    pub(crate) h_blocks: U32<LE>,
    pub(crate) h_hash: U32<LE>,
    pub(crate) h_checksum: U32<LE>,
    pub(crate) h_reserved: [U32<LE>; 3],
}
const _: () = assert!(size_of::<XattrHeader>() == 32);

/// `EXT4_XATTR_MAGIC`, the value of `h_magic`; it also precedes the xattrs in an inode.
pub(crate) const XATTR_MAGIC: u32 = 0xea02_0000;

/// `struct ext4_xattr_entry` without its name (fs/ext4/xattr.h).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct XattrEntryHead {
    pub(crate) e_name_len: u8,
    pub(crate) e_name_index: u8,
    /// Offset in bytes from the start of the block, or from the first entry in an inode.
    pub(crate) e_value_offs: U16<LE>,
    pub(crate) e_value_inum: U32<LE>,
    /// Size of the value, in bytes.
    pub(crate) e_value_size: U32<LE>,
    pub(crate) e_hash: U32<LE>,
}
const _: () = assert!(size_of::<XattrEntryHead>() == 16);

/// `JBD2_MAGIC_NUMBER`, the value of `h_magic` in a journal.
pub(crate) const JOURNAL_MAGIC: u32 = 0xc03b_3998;
/// `JBD2_SUPERBLOCK_V2`: the `h_blocktype` of a superblock with feature fields.
pub(crate) const JOURNAL_SUPERBLOCK_V2: u32 = 4;

/// `struct journal_superblock_s` (include/linux/jbd2.h), big-endian, up to the last field that is
/// written.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct JournalSuperBlock {
    pub(crate) h_magic: U32<BE>,
    pub(crate) h_blocktype: U32<BE>,
    pub(crate) h_sequence: U32<BE>,
    /// Size of a block, in bytes.
    pub(crate) s_blocksize: U32<BE>,
    pub(crate) s_maxlen: U32<BE>,
    pub(crate) s_first: U32<BE>,
    pub(crate) s_sequence: U32<BE>,
    pub(crate) s_start: U32<BE>,
    pub(crate) s_errno: U32<BE>,
    pub(crate) s_feature_compat: U32<BE>,
    pub(crate) s_feature_incompat: U32<BE>,
    pub(crate) s_feature_ro_compat: U32<BE>,
    pub(crate) s_uuid: [u8; 16],
    pub(crate) s_nr_users: U32<BE>,
}
const _: () = assert!(size_of::<JournalSuperBlock>() == 68);
const _: () = assert!(std::mem::offset_of!(JournalSuperBlock, s_uuid) == 0x30);

/// Returns the value with these low 32 bits and these higher bits.
pub(crate) fn whole(low: U32<LE>, high: impl Into<u64>) -> u64 {
    u64::from(low.get()) | high.into() << 32
}

/// Splits a value into its low and its high 32 bits.
pub(crate) fn halves(value: u64) -> (U32<LE>, U32<LE>) {
    let low = u32::try_from(value & u64::from(u32::MAX)).expect("masked to 32 bits");
    let high = u32::try_from(value >> 32).expect("shifted to 32 bits");
    (U32::new(low), U32::new(high))
}

/// Splits a value into its low and its high 16 bits.
pub(crate) fn half_words(value: u32) -> (U16<LE>, U16<LE>) {
    let low = u16::try_from(value & 0xffff).expect("masked to 16 bits");
    let high = u16::try_from(value >> 16).expect("shifted to 16 bits");
    (U16::new(low), U16::new(high))
}
