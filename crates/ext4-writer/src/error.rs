use std::io;

use crate::{SIZE_MAX_BYTES, SIZE_MIN_BYTES};

/// Why an image was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The output failed.
    #[error("cannot write the image at byte {offset_bytes}")]
    Io {
        /// Where.
        offset_bytes: u64,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No image has this size.
    #[error("a size of {size_bytes} bytes is outside {SIZE_MIN_BYTES} to {SIZE_MAX_BYTES}")]
    Size {
        /// The size asked for.
        size_bytes: u64,
    },
    /// No journal has this size.
    #[error("a journal of {journal_bytes} bytes is outside {minimum_bytes} to {maximum_bytes}")]
    Journal {
        /// The size asked for.
        journal_bytes: u64,
        /// The smallest that the kernel takes.
        minimum_bytes: u64,
        /// The largest that fits this image's first group.
        maximum_bytes: u64,
    },
    /// The label does not fit.
    #[error("a label of {length_bytes} bytes is longer than 16")]
    Label {
        /// How long it is.
        length_bytes: usize,
    },
    /// The tree needs more than the image has.
    #[error("the tree needs more {what} than the image has ({available})")]
    Full {
        /// Blocks or inodes.
        what: &'static str,
        /// How many there are.
        available: u64,
    },
    /// A file's content cannot be read.
    #[error("cannot read what /{} is to hold", .path.escape_ascii())]
    Content {
        /// Its first path.
        path: Vec<u8>,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// One file cannot be stored.
    #[error("cannot store /{}", .path.escape_ascii())]
    Inode {
        /// Its first path.
        path: Vec<u8>,
        /// Why not.
        #[source]
        problem: InvalidInode,
    },
}

/// Why ext4 cannot store a file, as far as it is written here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidInode {
    /// A namespace that ext4 has no number for, or another form of value.
    #[error("the xattr {} is of a namespace that is not supported", .name.escape_ascii())]
    XattrNamespace {
        /// The xattr.
        name: Vec<u8>,
    },
    /// No list that the kernel would show: version 2, entries of eight bytes, at least one.
    #[error("the xattr {} is no access control list", .name.escape_ascii())]
    Acl {
        /// The xattr.
        name: Vec<u8>,
    },
    /// They fill more than a block.
    #[error("its xattrs need {needed_bytes} bytes, the limit is {limit_bytes}")]
    XattrsTooLarge {
        /// What they need.
        needed_bytes: usize,
        /// What there is.
        limit_bytes: usize,
    },
    /// A symlink's target.
    #[error("its target has {length_bytes} bytes, the limit is 4095 and at least 1")]
    SymlinkTarget {
        /// How long it is.
        length_bytes: usize,
    },
    /// More links than an inode counts.
    #[error("it has {links} links, the limit is 65000")]
    Links {
        /// How many.
        links: u64,
    },
    /// More than a file's blocks are counted.
    #[error("it has {size_bytes} bytes, the limit is {limit_bytes}")]
    Size {
        /// How long it is.
        size_bytes: u64,
        /// How long it may be.
        limit_bytes: u64,
    },
}
