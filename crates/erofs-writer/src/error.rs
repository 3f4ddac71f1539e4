use std::io;

use crate::xattr::NAME_MAX_BYTES as XATTR_NAME_MAX_BYTES;

/// Why an image cannot be written. After any of these the output holds no image.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The output failed.
    #[error("cannot write the image at byte {offset_bytes}")]
    Io {
        /// Where, from the image's start.
        offset_bytes: u64,
        /// What the output said.
        #[source]
        source: io::Error,
    },
    /// The output cannot be read where it was written, to compare what comes with what is there.
    #[error("cannot read back the image at byte {offset_bytes}")]
    ReadBack {
        /// Where, from the image's start.
        offset_bytes: u64,
        /// What the output said.
        #[source]
        source: io::Error,
    },
    /// The reader of a file's content failed.
    #[error("cannot read the content that goes to block {start_block}")]
    Content {
        /// First block of the run that was being filled.
        start_block: u32,
        /// What the reader said.
        #[source]
        source: io::Error,
    },
    /// The reader of a file's content ended early.
    #[error(
        "the content that goes to block {start_block} ends after {actual_bytes} of {length_bytes} bytes"
    )]
    ShortContent {
        /// First block of the run that was being filled.
        start_block: u32,
        /// What was promised.
        length_bytes: u64,
        /// What came.
        actual_bytes: u64,
    },
    /// The options cannot be stored.
    #[error("the image's options cannot be stored")]
    Options(#[source] InvalidOptions),
    /// A file of the tree cannot be stored.
    #[error("'{path}' cannot be stored")]
    Input {
        /// Its path from the root, bytes outside ASCII escaped.
        path: String,
        /// What is wrong with it.
        #[source]
        problem: InvalidInode,
    },
    /// Block addresses have 32 bits, over all devices together.
    #[error("the image and its devices have {blocks} blocks, the limit is 4294967295")]
    TooLarge {
        /// How many it takes.
        blocks: u64,
    },
}

/// Options that EROFS cannot store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOptions {
    /// More than 15 bytes, or a NUL.
    #[error("volume name {name:?} is longer than 15 bytes or holds a NUL")]
    VolumeName {
        /// What was asked for.
        name: String,
    },
    /// More than 64 bytes.
    #[error("device tag {tag:?} is longer than 64 bytes or holds a NUL")]
    DeviceTag {
        /// What was asked for.
        tag: String,
    },
    /// More than 65,535.
    #[error("{devices} devices, the limit is 65535")]
    Devices {
        /// What was asked for.
        devices: usize,
    },
}

/// An inode that EROFS cannot store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidInode {
    /// A directory has exactly one name.
    #[error("a directory has a second name")]
    SecondDirectoryName,
    /// More names than 32 bits count.
    #[error("{links} links, the limit is 4294967295")]
    TooManyLinks {
        /// How many there are.
        links: u64,
    },
    /// A second has fewer.
    #[error("{nanoseconds} nanoseconds in a timestamp")]
    Nanoseconds {
        /// How many there are.
        nanoseconds: u32,
    },
    /// The kernel refuses it.
    #[error("a symbolic link's target has {length_bytes} bytes, it takes 1 to 4095")]
    SymlinkLength {
        /// How long it is.
        length_bytes: usize,
    },
    /// The kernel refuses it.
    #[error("a symbolic link's target holds a NUL")]
    SymlinkNul,
    /// 12 bits of major, 20 bits of minor.
    #[error("device number {major}:{minor} is out of range")]
    DeviceNumber {
        /// Its major part.
        major: u32,
        /// Its minor part.
        minor: u32,
    },
    /// `loff_t` is signed.
    #[error("{size_bytes} bytes, the limit is 2^63 - 1")]
    FileSize {
        /// How long it is.
        size_bytes: u64,
    },
    /// A merged image could not address it.
    #[error("its content lies behind another image's inode")]
    InlineData,
    /// Not ascending, overlapping, empty, or past the end of the file.
    #[error("the extent at file block {file_block} is empty, out of order or past the end")]
    ExtentOrder {
        /// Where in the file.
        file_block: u64,
    },
    /// Not on the device that it names.
    #[error("blocks {start_block} to {end_block} are not on device {device}")]
    ExtentBounds {
        /// Which device.
        device: u16,
        /// First block.
        start_block: u32,
        /// Block after the last.
        end_block: u64,
    },
    /// A sparse file whose holes are many and small.
    #[error(
        "a sparse file needs {chunks} chunks, the limit is {}",
        crate::inode::CHUNKS_MAX
    )]
    TooManyChunks {
        /// How many it takes.
        chunks: u64,
    },
    /// Not `user.`, `trusted.`, `security.` or a POSIX ACL.
    #[error("extended attribute '{name}' has a namespace that EROFS does not have")]
    XattrNamespace {
        /// Its full name, escaped.
        name: String,
    },
    /// Nothing after the prefix, too much, or a NUL.
    #[error(
        "extended attribute '{name}' needs at most {XATTR_NAME_MAX_BYTES} bytes and a name after its namespace, without NUL"
    )]
    XattrName {
        /// Its full name, escaped.
        name: String,
    },
    /// Length is stored in 16 bits.
    #[error("extended attribute '{name}' has {length_bytes} bytes, the limit is 65535")]
    XattrValue {
        /// Its full name, escaped.
        name: String,
        /// How long it is.
        length_bytes: usize,
    },
    /// Length is stored in 16 bits, in units of 4 bytes.
    #[error("extended attributes take {length_bytes} bytes, the limit is 262148")]
    XattrTotal {
        /// How long they are together.
        length_bytes: usize,
    },
}
