use fstree::Xattrs;
use zerocopy::FromBytes as _;

use super::budget::{ALLOCATION_BYTES, Budget, memory_of};
use super::inode::DiskInode;
use super::{Fault, Image, ReadAt, ReadError, Structure, Unsupported};
use crate::acl;
use crate::checksum::crc32c;
use crate::format::{XATTR_MAGIC, XattrEntryHead, XattrHeader};
use crate::length::Length as _;
use crate::xattr::Namespace;

const HEAD_BYTES: usize = size_of::<XattrEntryHead>();
/// Offset of `h_checksum` in a block, in bytes.
const CHECKSUM_AT: usize = 16;

/// Xattrs of an inode, and inline data among them.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) xattrs: Xattrs,
    /// `system.data`: the part of inline content that does not fit `i_block`.
    pub(super) inline_data: Option<Vec<u8>>,
}

/// Xattrs of the entries read so far, in their order on disk.
#[derive(Debug, Default)]
struct Gathered {
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
    inline_data: Option<Vec<u8>>,
}

impl Gathered {
    /// Returns the memory that the xattrs will take.
    fn memory_bytes(&self) -> u64 {
        let pairs = self.pairs.iter();
        let pairs: usize = pairs
            .map(|(name, value)| 8 + name.len() + value.len())
            .sum();
        let inline = self.inline_data.as_ref().map_or(0, Vec::len);
        memory_of::<u8>(pairs + inline) + ALLOCATION_BYTES
    }
}

/// Reason to refuse the entries.
enum Problem {
    Fault(Fault),
    Unsupported(Unsupported),
}

/// Entries, and the bytes that their offsets count from.
#[derive(Clone, Copy)]
struct Area<'a> {
    entries: &'a [u8],
    values: &'a [u8],
}

/// Reads the xattrs in an inode and in its xattr block, and the inline data among them. Many inodes
/// may share a block; each keeps its own copy.
pub(super) fn read<R: ReadAt>(
    image: &Image<R>,
    inode: &DiskInode,
    budget: &mut Budget,
) -> Result<Found, ReadError> {
    let structure = Structure::Xattrs(inode.number);
    let mut gathered = Gathered::default();
    let at = |offset_bytes| {
        move |problem| match problem {
            Problem::Fault(fault) => structure.corrupt(offset_bytes, fault),
            Problem::Unsupported(what) => ReadError::Unsupported(what),
        }
    };
    if let Some(entries) = inode.xattrs.strip_prefix(&XATTR_MAGIC.to_le_bytes()) {
        let area = Area {
            entries,
            values: entries,
        };
        enter(area, inode.number, &mut gathered).map_err(at(inode.offset_bytes))?;
    }
    if inode.xattr_block != 0 {
        let offset_bytes = inode.xattr_block.saturating_mul(image.layout.block_size());
        if !image.layout.holds(inode.xattr_block, 1) {
            let fault = Fault::Blocks {
                start_block: inode.xattr_block,
                end_block: inode.xattr_block.saturating_add(1),
            };
            return Err(structure.corrupt(inode.offset_bytes, fault));
        }
        let bytes = image.blocks.block(inode.xattr_block)?;
        let seed = image.layout.has_checksums().then_some(image.layout.seed);
        check_block(&bytes, inode.xattr_block, seed)
            .map_err(|fault| structure.corrupt(offset_bytes, fault))?;
        let area = Area {
            entries: &bytes[size_of::<XattrHeader>()..],
            values: &bytes,
        };
        enter(area, inode.number, &mut gathered).map_err(at(offset_bytes))?;
    }
    budget.keep(gathered.memory_bytes())?;
    let count = gathered.pairs.len();
    let xattrs: Xattrs = gathered.pairs.into_iter().collect();
    if xattrs.len() < count {
        return Err(structure.corrupt(inode.offset_bytes, Fault::DuplicateXattr));
    }
    Ok(Found {
        xattrs,
        inline_data: gathered.inline_data,
    })
}

fn check_block(bytes: &[u8], block: u64, seed: Option<u32>) -> Result<(), Fault> {
    let (header, _) = XattrHeader::read_from_prefix(bytes).map_err(|_| Fault::Entry)?;
    let magic = header.h_magic.get();
    if magic != XATTR_MAGIC || header.h_blocks.get() != 1 {
        return Err(Fault::Field {
            name: "h_magic",
            value: magic.into(),
        });
    }
    let Some(seed) = seed else { return Ok(()) };
    let stored = header.h_checksum.get();
    let computed = crc32c(seed, &block.to_le_bytes());
    let computed = crc32c(crc32c(computed, &bytes[..CHECKSUM_AT]), &[0; 4]);
    let computed = crc32c(computed, &bytes[CHECKSUM_AT + 4..]);
    if stored == computed {
        return Ok(());
    }
    Err(Fault::Checksum { stored, computed })
}

fn enter(area: Area<'_>, inode: u32, gathered: &mut Gathered) -> Result<(), Problem> {
    let mut rest = area.entries;
    let mut values_left = area.values.len();
    // Four zero bytes end the list, or else the end of the area.
    while rest.first_chunk().is_some_and(|mark| *mark != [0; 4]) {
        let unfit = |_| Problem::Fault(Fault::Entry);
        let (head, after) = XattrEntryHead::read_from_prefix(rest).map_err(|_| unfit(()))?;
        let name_bytes = usize::from(head.e_name_len);
        let name = after.get(..name_bytes).ok_or_else(|| unfit(()))?;
        if head.e_value_inum.get() != 0 {
            return Err(Problem::Unsupported(Unsupported::XattrInode { inode }));
        }
        let value = value(&head, area.values).ok_or_else(|| unfit(()))?;
        // Values that overlap would make a block of many values much longer than a block.
        values_left = values_left.checked_sub(value.len()).ok_or_else(|| {
            let bytes = area.values.length_bytes();
            Problem::Fault(Fault::XattrOverlap { bytes })
        })?;
        add(head.e_name_index, name, value, inode, gathered)?;
        let length = (HEAD_BYTES + name_bytes).next_multiple_of(4);
        rest = rest.get(length..).ok_or_else(|| unfit(()))?;
    }
    Ok(())
}

fn value<'a>(head: &XattrEntryHead, values: &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(head.e_value_size.get()).ok()?;
    if length == 0 {
        return Some(&[]);
    }
    let start = usize::from(head.e_value_offs.get());
    values.get(start..start.checked_add(length)?)
}

fn add(
    index: u8,
    name: &[u8],
    value: &[u8],
    inode: u32,
    gathered: &mut Gathered,
) -> Result<(), Problem> {
    let namespace =
        Namespace::from_index(index).ok_or(Problem::Unsupported(Unsupported::XattrNamespace {
            inode,
            index,
        }))?;
    if namespace.is_inline_data(name) {
        gathered.inline_data = Some(value.to_vec());
        return Ok(());
    }
    let value = if namespace.is_acl() {
        acl::from_disk(value).ok_or(Problem::Fault(Fault::Acl))?
    } else {
        value.to_vec()
    };
    let full = [namespace.prefix, name].concat();
    gathered.pairs.push((full, value));
    Ok(())
}
