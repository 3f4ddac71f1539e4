//! The structures on disk (Linux, fs/erofs/erofs_fs.h), and nothing else. Integers are
//! little-endian.

pub(crate) use fstree::BLOCK_SIZE_BYTES;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// log2 of [`BLOCK_SIZE_BYTES`], the value of `blkszbits`.
pub(crate) const BLOCK_BITS: u8 = 12;
/// [`BLOCK_SIZE_BYTES`] as a length in memory.
pub(crate) const BLOCK_BYTES: usize = 1 << BLOCK_BITS;
const _: () = assert!(1 << BLOCK_BITS == BLOCK_SIZE_BYTES);
/// Offset of the superblock, in bytes from the image's start.
pub(crate) const SUPERBLOCK_OFFSET: usize = 1024;
/// `EROFS_SUPER_MAGIC_V1`, the value of `magic`.
pub(crate) const MAGIC: u32 = 0xE0F5_E1E2;
/// Bytes for each step of a `nid`: `1 << EROFS_ISLOTBITS`.
pub(crate) const INODE_SLOT_BYTES: u64 = 32;
/// `EROFS_DEVT_SLOT_SIZE`, in bytes; also the unit of `devt_slotoff`.
pub(crate) const DEVICE_SLOT_BYTES: usize = 128;
/// `EROFS_NULL_ADDR`: a hole in a chunk index, the absence of a block in an empty file.
pub(crate) const NULL_ADDRESS: u32 = u32::MAX;
/// `EROFS_CHUNK_FORMAT_INDEXES`: chunk map entries are 8 bytes and name a device.
pub(crate) const CHUNK_FORMAT_INDEXES: u16 = 0x0020;
/// `EROFS_CHUNK_FORMAT_BLKBITS_MASK`: log2 of blocks per chunk.
pub(crate) const CHUNK_FORMAT_BLKBITS_MASK: u16 = 0x001F;
/// `EROFS_XATTR_FILTER_SEED`, the seed of the hashes in `h_name_filter`.
pub(crate) const XATTR_FILTER_SEED: u32 = 0x25BB_E08F;
/// Longest name of an xattr with its prefix, in bytes: `XATTR_NAME_MAX`, the limit of Linux.
pub(crate) const XATTR_NAME_MAX_BYTES: usize = 255;
/// Most chunks of one file. Its map then takes 128 MiB, and a file of 64 GiB can have any pattern
/// of blocks and holes.
pub(crate) const CHUNKS_MAX: u64 = 1 << 24;
/// Longest target of a symbolic link, in bytes: `PATH_MAX` less its NUL.
pub(crate) const SYMLINK_MAX_BYTES: usize = 4095;

bitflags::bitflags! {
    /// `feature_compat`: a kernel that does not know a bit still mounts the image.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Compat: u32 {
        /// The superblock's `checksum` is filled in.
        const SB_CHKSUM = 0x1;
        /// The times of inodes are modification times.
        const MTIME = 0x2;
        /// The `h_name_filter` of xattr areas is filled in.
        const XATTR_FILTER = 0x4;
    }

    /// `feature_incompat`: a kernel that does not know a bit refuses to mount.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Incompat: u32 {
        /// Compressed clusters are padded at their start. The bit has no meaning without
        /// compression.
        const LZ4_0PADDING = 0x1;
        /// At least one file has a chunk map.
        const CHUNKED_FILE = 0x4;
        /// The image has a device table.
        const DEVICE_TABLE = 0x8;
    }
}

/// `struct erofs_super_block` (fs/erofs/erofs_fs.h), at byte 1024.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct SuperBlock {
    /// [`MAGIC`], which identifies the format.
    pub(crate) magic: U32,
    /// crc32c from byte 1024 to the end of its block, with this field 0, not inverted at the end.
    pub(crate) checksum: U32,
    /// The bits of [`Compat`].
    pub(crate) feature_compat: U32,
    /// log2 of bytes per block.
    pub(crate) blkszbits: u8,
    /// Extension slots of 16 bytes after the superblock.
    pub(crate) sb_extslots: u8,
    /// `nid` of the root directory.
    pub(crate) root_nid: U16,
    /// Number of inodes in the image.
    pub(crate) inos: U64,
    /// `mtime` of every compact inode, in seconds since the epoch.
    pub(crate) build_time: U64,
    /// Nanoseconds within that second.
    pub(crate) build_time_nsec: U32,
    /// Length of the primary device, in blocks.
    pub(crate) blocks: U32,
    /// Block at which `nid` 0 starts.
    pub(crate) meta_blkaddr: U32,
    /// Block from which the shared xattrs' identifiers count.
    pub(crate) xattr_blkaddr: U32,
    /// The filesystem's UUID, 16 bytes.
    pub(crate) uuid: [u8; 16],
    /// The volume's name, terminated by NUL.
    pub(crate) volume_name: [u8; 16],
    /// The bits of [`Incompat`].
    pub(crate) feature_incompat: U32,
    /// Bit mask of the compression algorithms in use.
    pub(crate) available_compr_algs: U16,
    /// Number of slots in the device table.
    pub(crate) extra_devices: U16,
    /// Offset of the device table, in units of 128 bytes from the image's start.
    pub(crate) devt_slotoff: U16,
    /// log2 of blocks per directory block.
    pub(crate) dirblkbits: u8,
    /// Number of long xattr name prefixes.
    pub(crate) xattr_prefix_count: u8,
    /// Offset of the long xattr name prefixes, in units of 4 bytes.
    pub(crate) xattr_prefix_start: U32,
    /// `nid` of the inode that holds packed fragments.
    pub(crate) packed_nid: U64,
    /// Any value but zero switches the xattr filter off.
    pub(crate) xattr_filter_reserved: u8,
    /// Reserved by the format; written as zero.
    pub(crate) reserved: [u8; 23],
}
const _: () = assert!(size_of::<SuperBlock>() == 128);
const _: () = assert!(std::mem::offset_of!(SuperBlock, packed_nid) == 0x60);

/// `struct erofs_deviceslot` (fs/erofs/erofs_fs.h).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct DeviceSlotDisk {
    /// Free text, filled up with NULs; the kernel does not parse it.
    pub(crate) tag: [u8; 64],
    /// Length of the device, in blocks.
    pub(crate) blocks: U32,
    /// Block of the unified address space at which the device starts.
    pub(crate) mapped_blkaddr: U32,
    /// Reserved by the format; written as zero.
    pub(crate) reserved: [u8; 56],
}
const _: () = assert!(size_of::<DeviceSlotDisk>() == DEVICE_SLOT_BYTES);
const _: () = assert!(std::mem::offset_of!(DeviceSlotDisk, mapped_blkaddr) == 0x44);

/// `struct erofs_inode_compact` (fs/erofs/erofs_fs.h).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct InodeCompact {
    /// Bit 0 is the version, 0 here; bits 1 to 3 are the data layout; the other bits are zero.
    pub(crate) i_format: U16,
    /// 0 without xattrs, else 1 + (bytes of the xattr area - 12) / 4.
    pub(crate) i_xattr_icount: U16,
    /// File type and permissions, as in `st_mode`.
    pub(crate) i_mode: U16,
    /// Number of names, as in `st_nlink`.
    pub(crate) i_nlink: U16,
    /// Length of the content, in bytes.
    pub(crate) i_size: U32,
    /// Seconds since the build time, from Linux 6.15 on. Written as zero, which every version reads
    /// in the same way.
    pub(crate) i_mtime: U32,
    /// First block, device number or chunk format, by type and layout.
    pub(crate) i_u: U32,
    /// The inode number that 32-bit `stat` reports.
    pub(crate) i_ino: U32,
    /// The owner's numeric user ID.
    pub(crate) i_uid: U16,
    /// The numeric group ID.
    pub(crate) i_gid: U16,
    /// Reserved by the format; written as zero.
    pub(crate) i_reserved: U32,
}
const _: () = assert!(size_of::<InodeCompact>() == 32);
const _: () = assert!(std::mem::offset_of!(InodeCompact, i_uid) == 0x18);

/// `struct erofs_inode_extended` (fs/erofs/erofs_fs.h).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct InodeExtended {
    /// As in [`InodeCompact`], but with version 1.
    pub(crate) i_format: U16,
    /// As in [`InodeCompact`]: 0 without xattrs.
    pub(crate) i_xattr_icount: U16,
    /// File type and permissions, as in `st_mode`.
    pub(crate) i_mode: U16,
    /// Reserved by the format; written as zero.
    pub(crate) i_reserved: U16,
    /// Length of the content, in bytes.
    pub(crate) i_size: U64,
    /// As in [`InodeCompact`], by type and layout.
    pub(crate) i_u: U32,
    /// The inode number that 32-bit `stat` reports.
    pub(crate) i_ino: U32,
    /// The owner's numeric user ID.
    pub(crate) i_uid: U32,
    /// The numeric group ID.
    pub(crate) i_gid: U32,
    /// Seconds since the epoch; times before it are in two's complement.
    pub(crate) i_mtime: U64,
    /// Nanoseconds within that second.
    pub(crate) i_mtime_nsec: U32,
    /// Number of names, as in `st_nlink`.
    pub(crate) i_nlink: U32,
    /// Reserved by the format; written as zero.
    pub(crate) i_reserved2: [u8; 16],
}
const _: () = assert!(size_of::<InodeExtended>() == 64);
const _: () = assert!(std::mem::offset_of!(InodeExtended, i_nlink) == 0x2C);

/// `struct erofs_dirent` (fs/erofs/erofs_fs.h).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Dirent {
    /// The inode's number, in units of 32 bytes from `meta_blkaddr`.
    pub(crate) nid: U64,
    /// Start of the name, in bytes from the start of the directory block.
    pub(crate) nameoff: U16,
    /// The inode's type, one of `EROFS_FT_*`.
    pub(crate) file_type: u8,
    /// Reserved by the format; written as zero.
    pub(crate) reserved: u8,
}
const _: () = assert!(size_of::<Dirent>() == 12);
const _: () = assert!(std::mem::offset_of!(Dirent, file_type) == 10);

/// `struct erofs_xattr_ibody_header` (fs/erofs/erofs_fs.h). Shared identifiers follow it, then
/// inline entries.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct XattrIbodyHeader {
    /// Bloom filter of the names: a bit is clear if a name that hashes to it may be present.
    pub(crate) h_name_filter: U32,
    /// Number of shared identifiers that follow.
    pub(crate) h_shared_count: u8,
    /// Reserved by the format; written as zero.
    pub(crate) h_reserved2: [u8; 7],
}
const _: () = assert!(size_of::<XattrIbodyHeader>() == 12);
const _: () = assert!(std::mem::offset_of!(XattrIbodyHeader, h_reserved2) == 5);

/// `struct erofs_xattr_entry` (fs/erofs/erofs_fs.h). Name and value follow, padded to 4 bytes.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct XattrEntry {
    /// Length of the name without its prefix, in bytes.
    pub(crate) e_name_len: u8,
    /// The name's prefix, one of `EROFS_XATTR_INDEX_*`.
    pub(crate) e_name_index: u8,
    /// Length of the value, in bytes.
    pub(crate) e_value_size: U16,
}
const _: () = assert!(size_of::<XattrEntry>() == 4);
const _: () = assert!(std::mem::offset_of!(XattrEntry, e_value_size) == 2);

/// `struct erofs_inode_chunk_index` (fs/erofs/erofs_fs.h).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub(crate) struct ChunkIndex {
    /// Reserved by the format; written as zero.
    pub(crate) advise: U16,
    /// 0 for the primary device, n for the n-th slot.
    pub(crate) device_id: U16,
    /// First block on that device, or [`NULL_ADDRESS`] for a hole.
    pub(crate) blkaddr: U32,
}
const _: () = assert!(size_of::<ChunkIndex>() == 8);
const _: () = assert!(std::mem::offset_of!(ChunkIndex, blkaddr) == 4);
