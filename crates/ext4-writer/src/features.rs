//! Feature bits of the superblock, named as in fs/ext4/ext4.h.

use bitflags::bitflags;

bitflags! {
    /// `s_feature_compat`: a reader that does not know a bit may read and write the image.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Compat: u32 {
        const DIR_PREALLOC = 0x1;
        const IMAGIC_INODES = 0x2;
        const HAS_JOURNAL = 0x4;
        const EXT_ATTR = 0x8;
        const RESIZE_INODE = 0x10;
        const DIR_INDEX = 0x20;
        const SPARSE_SUPER2 = 0x200;
        const FAST_COMMIT = 0x400;
        const STABLE_INODES = 0x800;
        const ORPHAN_FILE = 0x1000;
    }
}

bitflags! {
    /// `s_feature_ro_compat`: a reader that does not know a bit may only read the image.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct RoCompat: u32 {
        const SPARSE_SUPER = 0x1;
        const LARGE_FILE = 0x2;
        const BTREE_DIR = 0x4;
        const HUGE_FILE = 0x8;
        const GDT_CSUM = 0x10;
        const DIR_NLINK = 0x20;
        const EXTRA_ISIZE = 0x40;
        const QUOTA = 0x100;
        const BIGALLOC = 0x200;
        const METADATA_CSUM = 0x400;
        const READONLY = 0x1000;
        const PROJECT = 0x2000;
        const SHARED_BLOCKS = 0x4000;
        const VERITY = 0x8000;
        const ORPHAN_PRESENT = 0x1_0000;
    }
}

bitflags! {
    /// `s_feature_incompat`: a reader that does not know a bit must not read the image.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Incompat: u32 {
        const COMPRESSION = 0x1;
        const FILETYPE = 0x2;
        const RECOVER = 0x4;
        const JOURNAL_DEV = 0x8;
        const META_BG = 0x10;
        const EXTENTS = 0x40;
        const BITS_64 = 0x80;
        const MMP = 0x100;
        const FLEX_BG = 0x200;
        const EA_INODE = 0x400;
        const DIRDATA = 0x1000;
        const CSUM_SEED = 0x2000;
        const LARGEDIR = 0x4000;
        const INLINE_DATA = 0x8000;
        const ENCRYPT = 0x1_0000;
        const CASEFOLD = 0x2_0000;
    }
}

impl Incompat {
    /// Features that the reader supports. Encrypted and case-folding inodes are refused one by one.
    pub(crate) const READ: Self = Self::FILETYPE
        .union(Self::RECOVER)
        .union(Self::META_BG)
        .union(Self::EXTENTS)
        .union(Self::BITS_64)
        .union(Self::MMP)
        .union(Self::FLEX_BG)
        .union(Self::EA_INODE)
        .union(Self::CSUM_SEED)
        .union(Self::LARGEDIR)
        .union(Self::INLINE_DATA)
        .union(Self::ENCRYPT)
        .union(Self::CASEFOLD);
}
