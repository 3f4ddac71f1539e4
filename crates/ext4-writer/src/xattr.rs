use std::borrow::Cow;

use fstree::Xattrs;
use zerocopy::{IntoBytes as _, U16, U32};

use crate::checksum::crc32c;
use crate::format::{BLOCK_BYTES, XATTR_MAGIC, XattrEntryHead, XattrHeader};
use crate::{InvalidInode, acl};

/// Bytes for xattrs in an inode of 256 bytes, after the fields and the magic number.
const IN_INODE_BYTES: usize = 92;
const HEADER_BYTES: usize = 32;
const END_MARK_BYTES: usize = 4;

/// A prefix of xattr names, with its number (fs/ext4/xattr.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Namespace {
    index: u8,
    pub(crate) prefix: &'static [u8],
    /// True if the prefix is the whole name.
    is_whole: bool,
}

const NAMESPACES: [Namespace; 6] = [
    Namespace::new(1, b"user.", false),
    Namespace::new(2, b"system.posix_acl_access", true),
    Namespace::new(3, b"system.posix_acl_default", true),
    Namespace::new(4, b"trusted.", false),
    Namespace::new(6, b"security.", false),
    Namespace::new(7, b"system.", false),
];

impl Namespace {
    const fn new(index: u8, prefix: &'static [u8], is_whole: bool) -> Self {
        Self {
            index,
            prefix,
            is_whole,
        }
    }

    pub(crate) fn from_index(index: u8) -> Option<Self> {
        NAMESPACES.into_iter().find(|known| known.index == index)
    }

    /// Returns true if the value is an access control list, which has its own on-disk form.
    pub(crate) const fn is_acl(self) -> bool {
        self.is_whole
    }

    /// Returns true if the value is the end of content that begins in the inode.
    pub(crate) fn is_inline_data(self, name: &[u8]) -> bool {
        self.index == 7 && name == b"data"
    }
}

/// An xattr in the form that ext4 stores.
#[derive(Debug, Clone)]
struct Entry<'a> {
    index: u8,
    name: &'a [u8],
    value: Cow<'a, [u8]>,
}

/// Location of an inode's xattrs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum XattrLocation {
    /// The inode has no xattrs.
    Nowhere,
    /// The xattrs follow the inode's fields.
    InInode(Vec<u8>),
    /// The xattrs fill this block, whose checksum is still missing.
    InBlock(Vec<u8>),
}

/// Lays out the xattrs: all in the inode if they fit, otherwise all in one block.
pub(crate) fn place(xattrs: &Xattrs) -> Result<XattrLocation, InvalidInode> {
    if xattrs.is_empty() {
        return Ok(XattrLocation::Nowhere);
    }
    let mut entries = Vec::with_capacity(xattrs.len());
    for (name, value) in xattrs {
        entries.push(entry(name, value)?);
    }
    // The kernel searches for xattrs in this order.
    entries.sort_by_key(|entry| (entry.index, entry.name.len(), entry.name));
    let needed_bytes = END_MARK_BYTES + entries.iter().map(Entry::disk_bytes).sum::<usize>();
    if needed_bytes <= IN_INODE_BYTES {
        let mut bytes = XATTR_MAGIC.to_le_bytes().to_vec();
        bytes.extend_from_slice(&encode(&entries, IN_INODE_BYTES, 0, false));
        return Ok(XattrLocation::InInode(bytes));
    }
    let limit_bytes = BLOCK_BYTES - HEADER_BYTES;
    if needed_bytes > limit_bytes {
        return Err(InvalidInode::XattrsTooLarge {
            needed_bytes,
            limit_bytes,
        });
    }
    let header = XattrHeader {
        h_magic: U32::new(XATTR_MAGIC),
        h_refcount: U32::new(1),
        h_blocks: U32::new(1),
        h_hash: U32::new(block_hash(&entries)),
        h_checksum: U32::new(0),
        h_reserved: [U32::new(0); 3],
    };
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(&encode(&entries, limit_bytes, HEADER_BYTES, true));
    Ok(XattrLocation::InBlock(bytes))
}

/// Sets the checksum of an xattr block that lies at `block` (`ext4_xattr_block_csum`).
pub(crate) fn seal(bytes: &mut [u8], seed: u32, block: u64) {
    let crc = crc32c(crc32c(seed, &block.to_le_bytes()), bytes);
    bytes[16..20].copy_from_slice(&crc.to_le_bytes());
}

/// Converts an xattr to its stored form. In `system.`, only access control lists are accepted.
fn entry<'a>(name: &'a [u8], value: &'a [u8]) -> Result<Entry<'a>, InvalidInode> {
    let known = NAMESPACES.iter().find_map(|namespace| {
        let rest = name.strip_prefix(namespace.prefix)?;
        let is_ours = namespace.prefix != b"system."
            && rest.is_empty() == namespace.is_whole
            && rest.len() <= 255;
        is_ours.then_some((*namespace, rest))
    });
    let (namespace, rest) = known.ok_or_else(|| InvalidInode::XattrNamespace {
        name: name.to_vec(),
    })?;
    let value = if namespace.is_acl() {
        let disk = acl::to_disk(value);
        Cow::Owned(disk.ok_or_else(|| InvalidInode::Acl {
            name: name.to_vec(),
        })?)
    } else {
        Cow::Borrowed(value)
    };
    Ok(Entry {
        index: namespace.index,
        name: rest,
        value,
    })
}

impl Entry<'_> {
    fn head_bytes(&self) -> usize {
        (size_of::<XattrEntryHead>() + self.name.len()).next_multiple_of(4)
    }

    fn disk_bytes(&self) -> usize {
        self.head_bytes() + self.value.len().next_multiple_of(4)
    }

    /// Returns the hash of the name's bytes, then of the value's words (`ext4_xattr_hash_entry`).
    fn hash(&self) -> u32 {
        let name = self
            .name
            .iter()
            .fold(0_u32, |hash, &byte| hash.rotate_left(5) ^ u32::from(byte));
        self.value.chunks(4).fold(name, |hash, chunk| {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            hash.rotate_left(16) ^ u32::from_le_bytes(word)
        })
    }
}

/// Returns the hash over all entries (`ext4_xattr_rehash`).
fn block_hash(entries: &[Entry<'_>]) -> u32 {
    entries
        .iter()
        .fold(0_u32, |hash, entry| hash.rotate_left(16) ^ entry.hash())
}

/// Encodes entries from the start and values from the end. Offsets count from `base` bytes earlier.
fn encode(entries: &[Entry<'_>], room_bytes: usize, base: usize, hashed: bool) -> Vec<u8> {
    let mut bytes = vec![0; room_bytes];
    let mut head_at = 0;
    let mut value_at = room_bytes;
    for entry in entries {
        value_at -= entry.value.len().next_multiple_of(4);
        bytes[value_at..value_at + entry.value.len()].copy_from_slice(&entry.value);
        let offset = if entry.value.is_empty() {
            0
        } else {
            base + value_at
        };
        let head = XattrEntryHead {
            e_name_len: u8::try_from(entry.name.len()).expect("checked when it was made"),
            e_name_index: entry.index,
            e_value_offs: U16::new(u16::try_from(offset).expect("within a block")),
            e_value_inum: U32::new(0),
            e_value_size: U32::new(u32::try_from(entry.value.len()).expect("within a block")),
            e_hash: U32::new(if hashed { entry.hash() } else { 0 }),
        };
        let name_at = head_at + size_of::<XattrEntryHead>();
        bytes[head_at..name_at].copy_from_slice(head.as_bytes());
        bytes[name_at..name_at + entry.name.len()].copy_from_slice(entry.name);
        head_at += entry.head_bytes();
    }
    bytes
}
