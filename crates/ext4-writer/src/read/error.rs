use std::fmt;
use std::io;

use fstree::InvalidName;

/// An error while an image is opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The bytes are not an ext2, ext3 or ext4 filesystem.
    #[error("not an ext4 image: the magic number is {magic:#06x}")]
    NotExt4 {
        /// Value found in place of the magic number.
        magic: u16,
    },
    /// The image was not unmounted, and has no journal to recover it from.
    #[error("the image was not unmounted and has no journal")]
    Unclean,
    /// The superblock, the descriptors or the journal cannot be read.
    #[error("cannot open the image")]
    Read(#[from] ReadError),
}

/// An error while the metadata or the content of an image is read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The source failed.
    #[error("cannot read the image at byte {offset_bytes}")]
    Io {
        /// Offset in bytes from the start of the image.
        offset_bytes: u64,
        /// Cause reported by the source.
        #[source]
        source: io::Error,
    },
    /// The output for a file's content failed.
    #[error("cannot write a file's content")]
    Output {
        /// Cause reported by the output.
        #[source]
        source: io::Error,
    },
    /// The metadata that is kept of the image takes more memory than the limit.
    #[error("the metadata takes more than {limit_bytes} bytes of memory")]
    Memory {
        /// The limit that was set when the image was opened, in bytes.
        limit_bytes: u64,
    },
    /// The image is valid, but this reader does not support it.
    #[error("cannot read the image")]
    Unsupported(#[source] Unsupported),
    /// The image is not valid.
    #[error("the image is corrupt")]
    Corrupt(#[source] Corrupt),
}

/// A feature of ext4 that this reader does not support.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// The image has incompatible features that are not known.
    #[error("features {bits:#x} are not supported")]
    Features {
        /// Unknown bits of `s_feature_incompat`.
        bits: u32,
    },
    /// Files share blocks.
    #[error("shared blocks are not supported")]
    SharedBlocks,
    /// The journal is on another device.
    #[error("a journal on another device is not supported")]
    ExternalJournal,
    /// A journal to replay has features that are not known.
    #[error("journal features {bits:#x} are not supported")]
    JournalFeatures {
        /// Unknown bits of the journal's `s_feature_incompat`.
        bits: u32,
    },
    /// An inode is encrypted, protected by fs-verity, folds case or holds an xattr's value.
    #[error("inode {inode} has flags {flags:#x}: {what} is not supported")]
    InodeFlags {
        /// Number of the inode.
        inode: u32,
        /// `i_flags` of the inode.
        flags: u32,
        /// Feature that the flags ask for.
        what: &'static str,
    },
    /// An xattr is outside of the known namespaces.
    #[error("inode {inode} has an extended attribute of namespace {index}")]
    XattrNamespace {
        /// Number of the inode.
        inode: u32,
        /// `e_name_index` of the xattr.
        index: u8,
    },
    /// An xattr's value fills an inode.
    #[error("inode {inode} has an extended attribute in another inode")]
    XattrInode {
        /// Number of the inode.
        inode: u32,
    },
    /// Blocks are allocated in clusters, whose bitmaps are not verified.
    #[error("cannot verify the bitmaps of clusters")]
    Clusters,
}

/// Invalid bytes in an image: the structure, its offset, and the fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{structure} at byte {offset_bytes}: {fault}")]
pub struct Corrupt {
    structure: Structure,
    offset_bytes: u64,
    #[source]
    fault: Fault,
}

/// Kind of a structure; inodes and groups are given by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Structure {
    SuperBlock,
    SuperBlockCopy(u32),
    Descriptor(u32),
    Descriptors(u32),
    ReservedDescriptors(u32),
    BlockBitmap(u32),
    InodeBitmap(u32),
    InodeTable(u32),
    Inode(u32),
    ExtentTree(u32),
    IndirectMap(u32),
    Directory(u32),
    Symlink(u32),
    Xattrs(u32),
    FileData(u32),
    Journal,
    MultiMount,
}

/// Fault that makes a structure invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("ends past the image, which has {size_bytes} bytes")]
    OutsideImage { size_bytes: u64 },
    #[error("has {name} {value}")]
    Field { name: &'static str, value: u64 },
    #[error("has checksum {stored:#010x}, its bytes give {computed:#010x}")]
    Checksum { stored: u32, computed: u32 },
    #[error("names inode {number}, which does not exist")]
    InodeNumber { number: u32 },
    #[error("has a name but is deleted")]
    Deleted,
    #[error("has mode {mode:#o}")]
    Mode { mode: u16 },
    #[error("counts {stored} {name}, there are {counted}")]
    Count {
        name: &'static str,
        stored: u64,
        counted: u64,
    },
    #[error(
        "has the wrong bit for {name} {number}: it is used but marked as free, or the other way \
         round"
    )]
    Bit { name: &'static str, number: u64 },
    #[error("overlaps {other} at block {block}")]
    Overlap { other: Structure, block: u64 },
    #[error("has blocks {start_block} to {end_block}, which the image does not have")]
    Blocks { start_block: u64, end_block: u64 },
    #[error("claims more blocks than are left")]
    TooManyBlocks,
    #[error("is not a node of an extent tree")]
    ExtentHeader,
    #[error("has file block {file_block} out of order")]
    ExtentOrder { file_block: u64 },
    #[error("has no block {file_block}")]
    Hole { file_block: u64 },
    #[error("holds an entry that does not fit")]
    Entry,
    #[error("holds an attribute twice")]
    DuplicateXattr,
    #[error("has values that overlap: they are longer than the {bytes} bytes that hold them")]
    XattrOverlap { bytes: u64 },
    #[error("holds a bad name")]
    Name(#[source] InvalidName),
    #[error("holds a name twice")]
    DuplicateName,
    #[error("lacks '.' or '..' or points them elsewhere")]
    Dots,
    #[error("gives inode {number} the type {file_type}, which it does not have")]
    EntryType { number: u32, file_type: u8 },
    #[error("names directory {number}, which already has a name")]
    SecondDirectoryName { number: u32 },
    #[error("has a target that is empty, too long or holds a NUL")]
    Target,
    #[error("has an access control list that is not valid")]
    Acl,
    #[error(
        "block {block} is of transaction {sequence}, whose commit block says that it is complete"
    )]
    Transaction { block: u64, sequence: u32 },
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
    /// Returns the inode that the structure belongs to; `None` if it belongs to none.
    pub(crate) const fn inode(self) -> Option<u32> {
        match self {
            Self::Inode(number)
            | Self::ExtentTree(number)
            | Self::IndirectMap(number)
            | Self::Directory(number)
            | Self::Symlink(number)
            | Self::Xattrs(number)
            | Self::FileData(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the error for a fault in this structure at `offset_bytes`.
    pub(crate) const fn corrupt(self, offset_bytes: u64, fault: Fault) -> ReadError {
        ReadError::Corrupt(Corrupt::new(self, offset_bytes, fault))
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SuperBlock => write!(f, "the superblock"),
            Self::SuperBlockCopy(group) => write!(f, "the superblock's copy in group {group}"),
            Self::Descriptors(group) => write!(f, "the descriptors in group {group}"),
            Self::ReservedDescriptors(group) => {
                write!(f, "the blocks reserved for descriptors in group {group}")
            }
            Self::BlockBitmap(group) => write!(f, "the block bitmap of group {group}"),
            Self::InodeBitmap(group) => write!(f, "the inode bitmap of group {group}"),
            Self::InodeTable(group) => write!(f, "the inode table of group {group}"),
            Self::Descriptor(group) => write!(f, "the descriptor of group {group}"),
            Self::Inode(number) => write!(f, "inode {number}"),
            Self::ExtentTree(number) => write!(f, "the extent tree of inode {number}"),
            Self::IndirectMap(number) => write!(f, "the block map of inode {number}"),
            Self::Directory(number) => write!(f, "directory {number}"),
            Self::Symlink(number) => write!(f, "symbolic link {number}"),
            Self::Xattrs(number) => write!(f, "the xattrs of inode {number}"),
            Self::FileData(number) => write!(f, "the data of inode {number}"),
            Self::Journal => write!(f, "the journal"),
            Self::MultiMount => write!(f, "the block against multiple mounts"),
        }
    }
}
