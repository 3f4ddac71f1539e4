use std::io;

use crate::{SIZE_MAX_BYTES, SIZE_MIN_BYTES};

/// An error while an image is written from paths to a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The output file cannot be created.
    #[error("cannot create the output")]
    Create(#[source] io::Error),
    /// The image cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// An error while an image is written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The output failed.
    #[error("cannot write the image at byte {offset_bytes}")]
    Io {
        /// Offset of the failed write, in bytes; the image's size if the length could not be set.
        offset_bytes: u64,
        /// Cause reported by the output.
        #[source]
        source: io::Error,
    },
    /// The size is outside of [`SIZE_MIN_BYTES`] to [`SIZE_MAX_BYTES`].
    #[error(
        "a size of {size_bytes} bytes is outside the range from {SIZE_MIN_BYTES} to \
         {SIZE_MAX_BYTES}"
    )]
    Size {
        /// Requested size, in bytes.
        size_bytes: u64,
    },
    /// The journal's size is out of range.
    #[error(
        "a journal of {journal_bytes} bytes is outside the range from {minimum_bytes} to \
         {maximum_bytes}"
    )]
    Journal {
        /// Requested size, in bytes.
        journal_bytes: u64,
        /// Smallest size that the kernel accepts, in bytes.
        minimum_bytes: u64,
        /// Largest size that fits the image's first group, in bytes.
        maximum_bytes: u64,
    },
    /// The label is longer than `s_volume_name`, which has 16 bytes.
    #[error("the label has {length_bytes} bytes, the limit is 16")]
    Label {
        /// Length of the label, in bytes.
        length_bytes: usize,
    },
    /// The tree needs more blocks or inodes than the image has.
    #[error("the tree needs more {what} than the image has ({available})")]
    Full {
        /// Unit that ran out: `blocks` or `inodes`.
        what: &'static str,
        /// Number of such units in the image.
        available: u64,
    },
    /// The content of a file cannot be read.
    #[error("cannot read the content of /{}", .path.escape_ascii())]
    Content {
        /// First path of the file, without a leading slash.
        path: Vec<u8>,
        /// Cause reported by the content.
        #[source]
        source: io::Error,
    },
    /// A file cannot be stored.
    #[error("cannot store /{}", .path.escape_ascii())]
    Inode {
        /// First path of the file, without a leading slash.
        path: Vec<u8>,
        /// Property of the file that cannot be stored.
        #[source]
        problem: InvalidInode,
    },
}

/// A property of a file that this writer cannot store in ext4.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidInode {
    /// The xattr's namespace is not supported, or its name in the namespace is empty or too long.
    #[error("the xattr {} has a namespace that is not supported", .name.escape_ascii())]
    XattrNamespace {
        /// Full name of the xattr.
        name: Vec<u8>,
    },
    /// The value is not a list in the kernel's form: version 2, then at least one entry of eight
    /// bytes.
    #[error("the xattr {} is not an access control list", .name.escape_ascii())]
    Acl {
        /// Full name of the xattr.
        name: Vec<u8>,
    },
    /// The xattrs do not fit one block.
    #[error("its xattrs need {needed_bytes} bytes, the limit is {limit_bytes}")]
    XattrsTooLarge {
        /// Bytes that the xattrs need.
        needed_bytes: usize,
        /// Bytes that a block has for xattrs.
        limit_bytes: usize,
    },
    /// The target of a symlink is empty or too long.
    #[error("its target has {length_bytes} bytes, it must have 1 to 4095")]
    SymlinkTarget {
        /// Length of the target, in bytes.
        length_bytes: usize,
    },
    /// The file has more links than `EXT4_LINK_MAX`.
    #[error("it has {links} links, the limit is 65000")]
    Links {
        /// Number of links to the file.
        links: u64,
    },
    /// The runs of blocks that hold the file's content overlap, are out of order, or end beyond the file.
    #[error("its content is not in ascending runs of blocks within {size_bytes} bytes")]
    Outside {
        /// Size of the file, in bytes.
        size_bytes: u64,
    },
    /// The file has more than 2^32 - 1 blocks.
    #[error("it has {size_bytes} bytes, the limit is {limit_bytes}")]
    Size {
        /// Size of the file, in bytes.
        size_bytes: u64,
        /// Largest supported size, in bytes.
        limit_bytes: u64,
    },
}
