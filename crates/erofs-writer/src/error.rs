use std::io;

use fstree::PathError;

use crate::format::{CHUNKS_MAX, XATTR_NAME_MAX_BYTES};

/// A failure to write an image from paths.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A path cannot be made.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The image cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// A failure to write an image. After any of these errors the output holds no image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The output file cannot be opened.
    #[error("cannot open the output")]
    Create(#[source] io::Error),
    /// The output could not be written or moved.
    #[error("cannot write the image at byte {offset_bytes}")]
    Io {
        /// Offset of the failure, in bytes from the image's start.
        offset_bytes: u64,
        /// The error of the output.
        #[source]
        source: io::Error,
    },
    /// The output could not be read back, to compare new content with stored content.
    #[error("cannot read back the image at byte {offset_bytes}")]
    ReadBack {
        /// Offset of the content, in bytes from the image's start.
        offset_bytes: u64,
        /// The error of the output.
        #[source]
        source: io::Error,
    },
    /// The reader of a file's content failed.
    #[error("cannot read the content for block {start_block}")]
    Content {
        /// First block of the run that was being filled.
        start_block: u32,
        /// The error of the reader.
        #[source]
        source: io::Error,
    },
    /// The reader of a file's content ended early.
    #[error(
        "the content for block {start_block} ends after {actual_bytes} of {length_bytes} bytes"
    )]
    ShortContent {
        /// First block of the run that was being filled.
        start_block: u32,
        /// The promised length, in bytes.
        length_bytes: u64,
        /// The number of bytes that the reader returned.
        actual_bytes: u64,
    },
    /// The options cannot be stored.
    #[error("cannot store the image's options")]
    Options(#[source] InvalidOptions),
    /// A file of the tree cannot be stored.
    #[error("cannot store '{path}'")]
    Input {
        /// The file's path from the root, with bytes outside of ASCII escaped.
        path: String,
        /// The reason why the file cannot be stored.
        #[source]
        problem: InvalidInode,
    },
    /// The image and its devices have more blocks than 32-bit block addresses can name.
    #[error("the image and its devices have {blocks} blocks, the limit is 4294967295")]
    TooLarge {
        /// The number of blocks that the image and its devices need.
        blocks: u64,
    },
}

/// Options that EROFS cannot store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidOptions {
    /// The volume name is longer than 15 bytes or holds a NUL.
    #[error("the volume name {name:?} is longer than 15 bytes or contains a NUL")]
    VolumeName {
        /// The name in the options.
        name: String,
    },
    /// A device's tag is longer than 64 bytes or holds a NUL.
    #[error("the device tag {tag:?} is longer than 64 bytes or contains a NUL")]
    DeviceTag {
        /// The tag in the options.
        tag: String,
    },
    /// There are more than 65,535 devices.
    #[error("the image has {devices} devices, the limit is 65535")]
    Devices {
        /// The number of devices in the options.
        devices: usize,
    },
}

/// An inode that EROFS cannot store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidInode {
    /// A directory has a second name; EROFS allows exactly one.
    #[error("a directory has a second name")]
    SecondDirectoryName,
    /// An inode has more links than 32 bits can count.
    #[error("it has {links} links, the limit is 4294967295")]
    TooManyLinks {
        /// The number of links.
        links: u64,
    },
    /// A timestamp has 1,000,000,000 nanoseconds or more.
    #[error("a timestamp has {nanoseconds} nanoseconds, the limit is 999999999")]
    Nanoseconds {
        /// Nanoseconds of the timestamp.
        nanoseconds: u32,
    },
    /// A symbolic link's target is empty or longer than 4095 bytes; the kernel refuses it.
    #[error("the target of a symbolic link has {length_bytes} bytes, it must have 1 to 4095")]
    SymlinkLength {
        /// The target's length, in bytes.
        length_bytes: usize,
    },
    /// A symbolic link's target holds a NUL; the kernel refuses it.
    #[error("the target of a symbolic link contains a NUL")]
    SymlinkNul,
    /// A device number exceeds 12 bits of major or 20 bits of minor.
    #[error("device number {major}:{minor} is out of range")]
    DeviceNumber {
        /// The major device number.
        major: u32,
        /// The minor device number.
        minor: u32,
    },
    /// A file is longer than 2^63 - 1 bytes; the kernel's `loff_t` is signed.
    #[error("it has {size_bytes} bytes, the limit is 2^63 - 1")]
    FileSize {
        /// The file's length, in bytes.
        size_bytes: u64,
    },
    /// A file's content lies behind another image's inode; a merged image cannot address it.
    #[error("its content lies behind another image's inode")]
    InlineData,
    /// An extent is empty, not in ascending order, overlapping, or past the end of the file.
    #[error("the extent at file block {file_block} is empty, out of order or past the end")]
    ExtentOrder {
        /// The extent's start, in blocks from the start of the file.
        file_block: u64,
    },
    /// An extent is not on the device that it names.
    #[error("blocks {start_block} to {end_block} are not on device {device}")]
    ExtentBounds {
        /// The device's number: 0 for the image itself, n for the n-th slot.
        device: u16,
        /// First block of the extent on that device.
        start_block: u32,
        /// Block after the extent's last block.
        end_block: u64,
    },
    /// A sparse file needs more chunks than are supported: its holes are many and small.
    #[error("a sparse file needs {chunks} chunks, the limit is {CHUNKS_MAX}")]
    TooManyChunks {
        /// The number of chunks that the file needs.
        chunks: u64,
    },
    /// An attribute is not in `user.`, `trusted.` or `security.`, and not a POSIX ACL.
    #[error("the extended attribute '{name}' has a namespace that EROFS does not have")]
    XattrNamespace {
        /// The attribute's full name, escaped.
        name: String,
    },
    /// An attribute's name is too long, is empty after its prefix, or holds a NUL.
    #[error(
        "the extended attribute '{name}' must have a name of 1 to {XATTR_NAME_MAX_BYTES} bytes \
         after its namespace, without NUL"
    )]
    XattrName {
        /// The attribute's full name, escaped.
        name: String,
    },
    /// An attribute's value is longer than 65,535 bytes; its length is stored in 16 bits.
    #[error(
        "the value of the extended attribute '{name}' has {length_bytes} bytes, the limit is 65535"
    )]
    XattrValue {
        /// The attribute's full name, escaped.
        name: String,
        /// The value's length, in bytes.
        length_bytes: usize,
    },
    /// An inode's attributes are too long; their length is stored in 16 bits, in units of 4 bytes.
    #[error("its extended attributes take {length_bytes} bytes, the limit is 262148")]
    XattrTotal {
        /// The length of the whole xattr area, in bytes.
        length_bytes: usize,
    },
}
