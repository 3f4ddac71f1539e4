use std::{fmt, io};

use fstree::InvalidName;

/// A reason why an image cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The source of the image failed.
    #[error("cannot read the image at byte {offset_bytes}")]
    Io {
        /// Offset of the failure, in bytes from the image's start.
        offset_bytes: u64,
        /// The error of the source.
        #[source]
        source: io::Error,
    },
    /// The source is not an EROFS image.
    #[error("not an EROFS image: the magic number is {magic:#010x}")]
    NotErofs {
        /// The number in the place of the magic number.
        magic: u32,
    },
    /// The image uses a feature that this reader does not support.
    #[error("cannot read the image")]
    Unsupported(#[source] Unsupported),
    /// The superblock or the device table is corrupt.
    #[error("the image is corrupt")]
    Corrupt(#[source] Corrupt),
}

/// A reason why the metadata or the content of an image cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The source of the image or of a device failed.
    #[error("cannot read device {device} at byte {offset_bytes}")]
    Io {
        /// The device: 0 for the image, n for the n-th slot.
        device: u16,
        /// Offset of the failure, in bytes from the device's start.
        offset_bytes: u64,
        /// The error of the source.
        #[source]
        source: io::Error,
    },
    /// The output for a file's content failed.
    #[error("cannot write a file's content")]
    Output {
        /// The error of the output.
        #[source]
        source: io::Error,
    },
    /// The metadata is larger than the caller takes.
    #[error("the metadata has more than {limit_bytes} bytes, the limit")]
    Memory {
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// An extent names a device that the caller did not give.
    #[error("device {device} is missing")]
    MissingDevice {
        /// The device: n for the n-th slot.
        device: u16,
    },
    /// The image uses a feature that this reader does not support.
    #[error("cannot read the image")]
    Unsupported(#[source] Unsupported),
    /// A structure of the image is corrupt.
    #[error("the image is corrupt")]
    Corrupt(#[source] Corrupt),
}

/// A feature of EROFS that this reader does not support.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// Blocks or directory blocks of an unsupported size.
    #[error(
        "blocks of 2^{block_bits} bytes and directory blocks of 2^{directory_bits} blocks are not \
         supported; blocks may have 2^9 to 2^12 bytes, and directory blocks one block"
    )]
    BlockSize {
        /// Size of a block, as log2 of bytes.
        block_bits: u8,
        /// Size of a directory block, as log2 of blocks.
        directory_bits: u8,
    },
    /// The image has incompatible features.
    #[error("not supported: {}", feature_names(*bits))]
    Features {
        /// The bits of `feature_incompat` that are not supported.
        bits: u32,
    },
    /// An inode has compressed content.
    #[error("inode {nid} is compressed, layout {layout}")]
    Compressed {
        /// The number of the inode.
        nid: u64,
        /// The layout's code: bits 1 to 3 of `i_format`.
        layout: u16,
    },
    /// Bits of an inode's format, or a layout, that this reader does not know.
    #[error("inode {nid} has format {format:#06x}")]
    InodeFormat {
        /// The number of the inode.
        nid: u64,
        /// The value of `i_format`.
        format: u16,
    },
    /// A chunk format with flags other than `EROFS_CHUNK_FORMAT_INDEXES`.
    #[error("inode {nid} has chunk format {format:#x}")]
    ChunkFormat {
        /// The number of the inode.
        nid: u64,
        /// The chunk format, from `i_u`.
        format: u32,
    },
    /// An extended attribute outside of the known namespaces.
    #[error("inode {nid} has an extended attribute of namespace {index}")]
    XattrNamespace {
        /// The number of the inode.
        nid: u64,
        /// The namespace's code, `e_name_index`.
        index: u8,
    },
}

/// Bits of `feature_incompat` that the kernel knows and this reader does not.
const FEATURES: [(u32, &str); 7] = [
    (0x02, "big or configured compressed clusters (COMPR_CFGS)"),
    (0x10, "compressed tails (ZTAILPACKING)"),
    (
        0x20,
        "packed fragments or deduplicated clusters (FRAGMENTS)",
    ),
    (0x40, "long xattr name prefixes (XATTR_PREFIXES)"),
    (0x80, "block addresses of 48 bits (48BIT)"),
    (0x100, "metadata apart (METABOX)"),
    (!0x1FF, "unknown features"),
];

fn feature_names(bits: u32) -> String {
    let names = FEATURES.iter().filter(|(feature, _)| bits & feature != 0);
    let names: Vec<&str> = names.map(|&(_, name)| name).collect();
    format!("{} (feature_incompat {bits:#x})", names.join(", "))
}

/// Bytes that no writer writes: the structure, its offset, and the fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{structure} at byte {offset_bytes}: {fault}")]
pub struct Corrupt {
    structure: Structure,
    offset_bytes: u64,
    #[source]
    fault: Fault,
}

/// The structure that is corrupt; numbers are `nid`s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Structure {
    SuperBlock,
    DeviceTable,
    Inode(u64),
    Xattrs(u64),
    SharedXattr,
    Directory(u64),
    Symlink(u64),
    ChunkMap(u64),
    FileData(u64),
    InlineData(u64),
}

/// The fault of a structure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("ends past the image, which has {size_bytes} bytes")]
    OutsideImage { size_bytes: u64 },
    #[error("is too large for an image of this size")]
    TooLarge,
    #[error("has checksum {stored:#010x}, its bytes give {computed:#010x}")]
    Checksum { stored: u32, computed: u32 },
    #[error("has mode {mode:#o}")]
    Mode { mode: u16 },
    #[error("has {nanoseconds} nanoseconds in its timestamp")]
    Nanoseconds { nanoseconds: u32 },
    #[error("has a layout that its type or size does not allow")]
    Layout,
    #[error("has inline data across a block boundary")]
    InlineCrossesBlock,
    #[error("holds an entry that does not fit")]
    Entry,
    #[error("holds an attribute twice")]
    DuplicateXattr,
    #[error("has a filter that hides a name or shows too many")]
    XattrFilter,
    #[error("holds a bad name")]
    Name(#[source] InvalidName),
    #[error("has names out of order")]
    NameOrder,
    #[error("lacks '.' or '..' or points them elsewhere")]
    Dots,
    #[error("gives inode {nid} the type {file_type}, which it does not have")]
    EntryType { nid: u64, file_type: u8 },
    #[error("names directory {nid}, which already has a name")]
    SecondDirectoryName { nid: u64 },
    #[error("blocks {start_block} to {end_block} are not on device {device}")]
    Extent {
        device: u16,
        start_block: u32,
        end_block: u64,
    },
    #[error("counts {stored} links, its names give {counted}")]
    Links { stored: u32, counted: u64 },
    #[error("counts {stored} inodes, names reach {counted}")]
    InodeCount { stored: u64, counted: u64 },
    #[error("has a target that is empty, too long or holds a NUL")]
    Target,
    #[error("overlaps the structure at byte {offset_bytes}")]
    Overlap { offset_bytes: u64 },
    #[error("is longer than the image, which has {size_bytes} bytes")]
    Truncated { size_bytes: u64 },
    #[error("has bytes that are not zero in its padding")]
    Padding,
    #[error("has a volume name without an end")]
    VolumeName,
    #[error("has overlapping devices")]
    DeviceOverlap,
}

impl Corrupt {
    pub(crate) const fn new(structure: Structure, offset_bytes: u64, fault: Fault) -> Self {
        Self {
            structure,
            offset_bytes,
            fault,
        }
    }
}

impl Structure {
    /// Returns a read error about this structure at an offset.
    pub(crate) const fn corrupt(self, offset_bytes: u64, fault: Fault) -> ReadError {
        ReadError::Corrupt(Corrupt::new(self, offset_bytes, fault))
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SuperBlock => write!(f, "the superblock"),
            Self::DeviceTable => write!(f, "the device table"),
            Self::Inode(nid) => write!(f, "inode {nid}"),
            Self::Xattrs(nid) => write!(f, "the xattrs of inode {nid}"),
            Self::SharedXattr => write!(f, "a shared xattr"),
            Self::Directory(nid) => write!(f, "directory {nid}"),
            Self::Symlink(nid) => write!(f, "symbolic link {nid}"),
            Self::ChunkMap(nid) => write!(f, "the chunk map of inode {nid}"),
            Self::FileData(nid) => write!(f, "the data of inode {nid}"),
            Self::InlineData(nid) => write!(f, "the inline data of inode {nid}"),
        }
    }
}
