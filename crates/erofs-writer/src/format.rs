//! The bytes on disk (Linux, fs/erofs/erofs_fs.h), and nothing else. Integers are little-endian.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes in a block of every image this crate writes or reads.
pub const BLOCK_SIZE_BYTES: u64 = 4096;

/// log2 of [`BLOCK_SIZE_BYTES`].
pub(crate) const BLOCK_BITS: u8 = 12;
/// [`BLOCK_SIZE_BYTES`] as a length in memory.
pub(crate) const BLOCK_BYTES: usize = 1 << BLOCK_BITS;
/// Where the superblock lies, in bytes from the image's start.
pub(crate) const SUPERBLOCK_OFFSET: usize = 1024;
/// `EROFS_SUPER_MAGIC_V1`
pub(crate) const MAGIC: u32 = 0xE0F5_E1E2;
/// Bytes in a `nid` step: `1 << EROFS_ISLOTBITS`.
pub(crate) const INODE_SLOT_BYTES: u64 = 32;
/// `EROFS_DEVT_SLOT_SIZE`, also the unit of `devt_slotoff`.
pub(crate) const DEVICE_SLOT_BYTES: usize = 128;
/// `EROFS_NULL_ADDR`: a hole in a chunk index, no block at all in an empty file.
pub(crate) const NULL_ADDRESS: u32 = u32::MAX;
/// `EROFS_CHUNK_FORMAT_INDEXES`: chunk map entries are 8 bytes and name a device.
pub(crate) const CHUNK_FORMAT_INDEXES: u16 = 0x0020;
/// `EROFS_CHUNK_FORMAT_BLKBITS_MASK`: log2 of blocks per chunk.
pub(crate) const CHUNK_FORMAT_BLKBITS_MASK: u16 = 0x001F;
/// `EROFS_XATTR_FILTER_SEED`
pub(crate) const XATTR_FILTER_SEED: u32 = 0x25BB_E08F;
/// Longest target of a symbolic link, in bytes: `PATH_MAX` less its NUL.
pub(crate) const SYMLINK_MAX_BYTES: usize = 4095;

bitflags::bitflags! {
    /// `feature_compat`: a kernel that does not know a bit mounts all the same.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Compat: u32 {
        /// `checksum` is filled in.
        const SB_CHKSUM = 0x1;
        /// Inode times are modification times.
        const MTIME = 0x2;
        /// `h_name_filter` is filled in.
        const XATTR_FILTER = 0x4;
    }

    /// `feature_incompat`: a kernel that does not know a bit refuses to mount.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Incompat: u32 {
        /// Compressed clusters are padded at their start. Says nothing where none is compressed.
        const LZ4_0PADDING = 0x1;
        /// Files with chunk maps exist.
        const CHUNKED_FILE = 0x4;
        /// A device table exists.
        const DEVICE_TABLE = 0x8;
    }
}

/// `struct erofs_super_block`, at byte 1024.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct SuperBlock {
    /// [`MAGIC`].
    pub(crate) magic: U32,
    /// crc32c of bytes 1024 to 4096, this field 0, without the final inversion.
    pub(crate) checksum: U32,
    /// [`Compat`].
    pub(crate) feature_compat: U32,
    /// log2 of bytes per block.
    pub(crate) blkszbits: u8,
    /// Extension slots of 16 bytes after the superblock.
    pub(crate) sb_extslots: u8,
    /// `nid` of the root directory.
    pub(crate) root_nid: U16,
    /// Number of inodes.
    pub(crate) inos: U64,
    /// `mtime` of every compact inode, seconds since the epoch.
    pub(crate) build_time: U64,
    /// Nanoseconds to that.
    pub(crate) build_time_nsec: U32,
    /// Blocks of the primary device.
    pub(crate) blocks: U32,
    /// Block that `nid` 0 starts.
    pub(crate) meta_blkaddr: U32,
    /// Block that the shared xattrs' identifiers count from.
    pub(crate) xattr_blkaddr: U32,
    /// Of the filesystem.
    pub(crate) uuid: [u8; 16],
    /// NUL-terminated.
    pub(crate) volume_name: [u8; 16],
    /// [`Incompat`].
    pub(crate) feature_incompat: U32,
    /// Compression algorithms in use.
    pub(crate) available_compr_algs: U16,
    /// Slots in the device table.
    pub(crate) extra_devices: U16,
    /// Place of the device table, in units of 128 bytes from the image's start.
    pub(crate) devt_slotoff: U16,
    /// log2 of blocks per directory block.
    pub(crate) dirblkbits: u8,
    /// Number of long xattr name prefixes.
    pub(crate) xattr_prefix_count: u8,
    /// Their place, in units of 4 bytes.
    pub(crate) xattr_prefix_start: U32,
    /// `nid` of the inode that holds packed fragments.
    pub(crate) packed_nid: U64,
    /// Not zero switches the xattr filter off.
    pub(crate) xattr_filter_reserved: u8,
    /// Zero.
    pub(crate) reserved: [u8; 23],
}
const _: () = assert!(size_of::<SuperBlock>() == 128);
const _: () = assert!(std::mem::offset_of!(SuperBlock, packed_nid) == 0x60);

/// `struct erofs_deviceslot`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct DeviceSlotDisk {
    /// Free text.
    pub(crate) tag: [u8; 64],
    /// Blocks of the device.
    pub(crate) blocks: U32,
    /// Block of the unified address space that the device starts at.
    pub(crate) mapped_blkaddr: U32,
    /// Zero.
    pub(crate) reserved: [u8; 56],
}
const _: () = assert!(size_of::<DeviceSlotDisk>() == DEVICE_SLOT_BYTES);
const _: () = assert!(std::mem::offset_of!(DeviceSlotDisk, mapped_blkaddr) == 0x44);

/// `struct erofs_inode_compact`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct InodeCompact {
    /// Bit 0: version, 0 here. Bits 1 to 3: data layout. The rest: zero.
    pub(crate) i_format: U16,
    /// 0 without xattrs, else 1 + (bytes of the xattr area - 12) / 4.
    pub(crate) i_xattr_icount: U16,
    /// `st_mode`.
    pub(crate) i_mode: U16,
    /// `st_nlink`.
    pub(crate) i_nlink: U16,
    /// Bytes.
    pub(crate) i_size: U32,
    /// Seconds since the build time, from Linux 6.15 on; written as zero, which all agree on.
    pub(crate) i_mtime: U32,
    /// First block, device number, or chunk format, by type and layout.
    pub(crate) i_u: U32,
    /// Inode number for 32-bit `stat`.
    pub(crate) i_ino: U32,
    /// Owner.
    pub(crate) i_uid: U16,
    /// Group.
    pub(crate) i_gid: U16,
    /// Zero.
    pub(crate) i_reserved: U32,
}
const _: () = assert!(size_of::<InodeCompact>() == 32);
const _: () = assert!(std::mem::offset_of!(InodeCompact, i_uid) == 0x18);

/// `struct erofs_inode_extended`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct InodeExtended {
    /// As in [`InodeCompact`], version 1.
    pub(crate) i_format: U16,
    /// As in [`InodeCompact`].
    pub(crate) i_xattr_icount: U16,
    /// `st_mode`.
    pub(crate) i_mode: U16,
    /// Zero.
    pub(crate) i_reserved: U16,
    /// Bytes.
    pub(crate) i_size: U64,
    /// As in [`InodeCompact`].
    pub(crate) i_u: U32,
    /// Inode number for 32-bit `stat`.
    pub(crate) i_ino: U32,
    /// Owner.
    pub(crate) i_uid: U32,
    /// Group.
    pub(crate) i_gid: U32,
    /// Seconds since the epoch, two's complement before it.
    pub(crate) i_mtime: U64,
    /// Nanoseconds into that second.
    pub(crate) i_mtime_nsec: U32,
    /// `st_nlink`.
    pub(crate) i_nlink: U32,
    /// Zero.
    pub(crate) i_reserved2: [u8; 16],
}
const _: () = assert!(size_of::<InodeExtended>() == 64);
const _: () = assert!(std::mem::offset_of!(InodeExtended, i_nlink) == 0x2C);

/// `struct erofs_dirent`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Dirent {
    /// The inode, in units of 32 bytes from `meta_blkaddr`.
    pub(crate) nid: U64,
    /// Start of the name, in bytes from the start of the directory block.
    pub(crate) nameoff: U16,
    /// `EROFS_FT_*`.
    pub(crate) file_type: u8,
    /// Zero.
    pub(crate) reserved: u8,
}
const _: () = assert!(size_of::<Dirent>() == 12);
const _: () = assert!(std::mem::offset_of!(Dirent, file_type) == 10);

/// `struct erofs_xattr_ibody_header`; shared identifiers, then inline entries follow.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct XattrIbodyHeader {
    /// A bit is clear where a name that hashes to it may be present.
    pub(crate) h_name_filter: U32,
    /// Number of shared identifiers.
    pub(crate) h_shared_count: u8,
    /// Zero.
    pub(crate) h_reserved2: [u8; 7],
}
const _: () = assert!(size_of::<XattrIbodyHeader>() == 12);
const _: () = assert!(std::mem::offset_of!(XattrIbodyHeader, h_reserved2) == 5);

/// `struct erofs_xattr_entry`; name and value follow, padded to 4 bytes.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct XattrEntry {
    /// Bytes of the name without its prefix.
    pub(crate) e_name_len: u8,
    /// `EROFS_XATTR_INDEX_*`: the prefix.
    pub(crate) e_name_index: u8,
    /// Bytes of the value.
    pub(crate) e_value_size: U16,
}
const _: () = assert!(size_of::<XattrEntry>() == 4);
const _: () = assert!(std::mem::offset_of!(XattrEntry, e_value_size) == 2);

/// `struct erofs_inode_chunk_index`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub(crate) struct ChunkIndex {
    /// Zero.
    pub(crate) advise: U16,
    /// 0 for the primary device, n for the n-th slot.
    pub(crate) device_id: U16,
    /// First block on that device, [`NULL_ADDRESS`] for a hole.
    pub(crate) blkaddr: U32,
}
const _: () = assert!(size_of::<ChunkIndex>() == 8);
const _: () = assert!(std::mem::offset_of!(ChunkIndex, blkaddr) == 4);
