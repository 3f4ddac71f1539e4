use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;

use zerocopy::FromBytes as _;

use super::budget::{ALLOCATION_BYTES, Budget, memory_of};
use super::inode::DiskInode;
use super::layout::Layout;
use super::mapping::Mapping;
use super::{Fault, Image, ReadAt, ReadError, Structure};
use crate::checksum::crc32c;
use crate::features::Incompat;
use crate::format::{DirEntryHead, DirEntryTail, INDEX_FL, TAIL_FILE_TYPE};

const HEAD_BYTES: usize = size_of::<DirEntryHead>();
const TAIL_BYTES: usize = size_of::<DirEntryTail>();
/// Size of the entry `.` in a block, in bytes.
const DOT_BYTES: usize = 12;
/// Approximate memory of one name beside its bytes: as an entry, then in the tree, in bytes.
const NAME_BYTES: u64 = 64 + ALLOCATION_BYTES;

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DirEntry {
    pub(crate) inode: u32,
    pub(crate) name: Box<[u8]>,
    /// `EXT4_FT_*`; 0 if the directory does not record types.
    pub(crate) file_type: u8,
}

/// Entries of one directory, whose names differ.
#[derive(Debug, Default)]
pub(super) struct Entries {
    entries: Vec<DirEntry>,
    /// Hashes of the names. Names that differ may have the same.
    hashes: HashSet<u64>,
    state: RandomState,
    uncharged_bytes: u64,
}

impl DirEntry {
    pub(crate) fn is_dots(&self) -> bool {
        matches!(&*self.name, b"." | b"..")
    }
}

/// Reads every entry of a directory that has blocks, including `.` and `..`. The inner nodes of a
/// hash tree look like blocks without entries, so all blocks are read alike.
pub(super) fn read<R: ReadAt>(
    image: &Image<R>,
    inode: &DiskInode,
    mapping: &Mapping,
    budget: &mut Budget,
) -> Result<Vec<DirEntry>, ReadError> {
    let structure = Structure::Directory(inode.number);
    let block_size = image.layout.block_size();
    if !inode.size_bytes.is_multiple_of(block_size) || inode.size_bytes == 0 {
        let fault = Fault::Field {
            name: "i_size",
            value: inode.size_bytes,
        };
        return Err(structure.corrupt(inode.offset_bytes, fault));
    }
    let blocks = inode.size_bytes / block_size;
    let mut entries = Entries::default();
    let mut file_block = 0;
    for extent in &mapping.extents {
        let wanted = extent.blocks.min(blocks.saturating_sub(extent.file_block));
        if (extent.file_block != file_block || !extent.is_written) && wanted > 0 {
            return Err(structure.corrupt(inode.offset_bytes, Fault::Hole { file_block }));
        }
        for (index, block) in (0..wanted).map(|index| (index, extent.start_block + index)) {
            let bytes = image.blocks.block(block)?;
            let corrupt = |fault| structure.corrupt(block * block_size, fault);
            if image.layout.has_checksums() {
                let is_first = file_block + index == 0;
                check_checksum(inode, is_first, &bytes).map_err(corrupt)?;
            }
            entries.parse(&image.layout, &bytes).map_err(corrupt)?;
            entries.charge(budget)?;
        }
        file_block += wanted;
    }
    if file_block < blocks {
        return Err(structure.corrupt(inode.offset_bytes, Fault::Hole { file_block }));
    }
    Ok(entries.into_entries())
}

impl Entries {
    /// Adds the entries of one block, or of inline data in the same form.
    pub(super) fn parse(&mut self, layout: &Layout, bytes: &[u8]) -> Result<(), Fault> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (head, _) = DirEntryHead::read_from_prefix(rest).map_err(|_| Fault::Entry)?;
            let length = rec_len(head.rec_len.get(), layout.block_bytes);
            let (entry, later) = rest.split_at_checked(length).ok_or(Fault::Entry)?;
            let name = HEAD_BYTES..HEAD_BYTES + usize::from(head.name_len);
            let name = entry.get(name).ok_or(Fault::Entry)?;
            if length < DOT_BYTES.min(HEAD_BYTES + name.len().max(1)) || !length.is_multiple_of(4) {
                return Err(Fault::Entry);
            }
            if head.inode.get() != 0 {
                let has_types = layout.incompat.contains(Incompat::FILETYPE);
                if !has_types && head.file_type != 0 {
                    return Err(Fault::Entry);
                }
                self.add(DirEntry {
                    inode: head.inode.get(),
                    name: name.into(),
                    file_type: head.file_type,
                })?;
            }
            rest = later;
        }
        Ok(())
    }

    /// Adds an entry. A name that is there already is a fault, so a block that a directory names
    /// again and again is read twice.
    pub(super) fn add(&mut self, entry: DirEntry) -> Result<(), Fault> {
        let is_new = self.hashes.insert(self.state.hash_one(&entry.name));
        if !is_new && self.entries.iter().any(|other| other.name == entry.name) {
            return Err(Fault::DuplicateName);
        }
        self.uncharged_bytes += NAME_BYTES + memory_of::<u8>(entry.name.len());
        self.entries.push(entry);
        Ok(())
    }

    /// Takes the memory of the entries added since the last call from the budget.
    pub(super) fn charge(&mut self, budget: &mut Budget) -> Result<(), ReadError> {
        budget.keep(std::mem::take(&mut self.uncharged_bytes))
    }

    pub(super) fn into_entries(self) -> Vec<DirEntry> {
        self.entries
    }
}

/// Decodes a `rec_len` (`ext4_rec_len_from_disk`), whose 16 bits cannot hold the length of a block
/// of 64 KiB.
fn rec_len(stored: u16, block_bytes: usize) -> usize {
    match stored {
        0 | u16::MAX if block_bytes == 0x1_0000 => block_bytes,
        _ => usize::from(stored),
    }
}

/// Location of the checksum in a directory's block.
struct Sealed {
    covered: Range<usize>,
    stored_at: usize,
    /// True for a node of a hash tree: the checksum then also covers the 4 bytes before it and
    /// zeros in its own place.
    is_index: bool,
}

fn check_checksum(inode: &DiskInode, is_first: bool, bytes: &[u8]) -> Result<(), Fault> {
    let is_whole_block = u16_at(bytes, 4).map(|stored| rec_len(stored, bytes.len()));
    let is_node = is_first || is_whole_block == Some(bytes.len());
    let sealed = if inode.flags & INDEX_FL != 0 && is_node {
        index_seal(bytes)
    } else {
        leaf_seal(bytes)
    };
    let sealed = sealed.ok_or(Fault::Entry)?;
    let mut computed = crc32c(inode.seed, &bytes[sealed.covered]);
    if sealed.is_index {
        let reserved = sealed.stored_at - 4..sealed.stored_at;
        computed = crc32c(crc32c(computed, &bytes[reserved]), &[0; 4]);
    }
    let stored = u32_at(bytes, sealed.stored_at).ok_or(Fault::Entry)?;
    if stored == computed {
        return Ok(());
    }
    Err(Fault::Checksum { stored, computed })
}

/// Returns the checksum's location in a block of entries; `None` if the block does not end with a
/// tail.
fn leaf_seal(bytes: &[u8]) -> Option<Sealed> {
    let at = bytes.len().checked_sub(TAIL_BYTES)?;
    let tail = DirEntryTail::read_from_bytes(&bytes[at..]).ok()?;
    let is_tail = tail.det_reserved_zero1.get() == 0
        && usize::from(tail.det_rec_len.get()) == TAIL_BYTES
        && tail.det_reserved_zero2 == 0
        && tail.det_reserved_ft == TAIL_FILE_TYPE;
    is_tail.then_some(Sealed {
        covered: 0..at,
        stored_at: bytes.len() - 4,
        is_index: false,
    })
}

/// Returns the checksum's location in a node of a hash tree, after room for all the entries that
/// the node may have (`get_dx_countlimit`); `None` if the block is not such a node.
fn index_seal(bytes: &[u8]) -> Option<Sealed> {
    let first = rec_len(u16_at(bytes, 4)?, bytes.len());
    let counts_at = if first == bytes.len() {
        8
    } else if first == DOT_BYTES
        && rec_len(u16_at(bytes, DOT_BYTES + 4)?, bytes.len()) == bytes.len() - DOT_BYTES
        && bytes.get(29) == Some(&8)
    {
        32
    } else {
        return None;
    };
    let limit = usize::from(u16_at(bytes, counts_at)?);
    let count = usize::from(u16_at(bytes, counts_at + 2)?);
    let stored_at = counts_at + limit * 8 + 4;
    let fits = count <= limit && stored_at + 4 <= bytes.len();
    fits.then_some(Sealed {
        covered: 0..counts_at + count * 8,
        stored_at,
        is_index: true,
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
