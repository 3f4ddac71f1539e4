use zerocopy::FromBytes as _;

use super::budget::{Budget, memory_of};
use super::inode::DiskInode;
use super::mapping::Mapping;
use super::{Extent, Fault, Image, ReadAt, ReadError, Structure};
use crate::checksum::crc32c;
use crate::format::{self, EXTENT_MAGIC, EXTENT_WRITTEN_MAX, ExtentHeader, ExtentIndex, whole};

const HEADER_BYTES: usize = size_of::<ExtentHeader>();
const ENTRY_BYTES: usize = size_of::<format::Extent>();
/// `EXT4_MAX_EXTENT_DEPTH`: the largest valid `eh_depth`.
const DEPTH_MAX: u16 = 5;
/// End of the file blocks, whose numbers have 32 bits.
const FILE_BLOCKS_END: u64 = 1 << 32;

/// A node that is still to be read: its block, its depth, and the file blocks that it may map.
#[derive(Debug, Clone, Copy)]
struct Due {
    block: u64,
    depth: u16,
    start: u64,
    end: u64,
}

/// Entries of a node whose header was checked.
struct NodeBytes<'a> {
    entries: &'a [u8],
    depth: u16,
}

/// State of reading an extent tree into a mapping.
struct Follower<'a, R> {
    image: &'a Image<R>,
    structure: Structure,
    budget: &'a mut Budget,
    due: Vec<Due>,
    mapping: Mapping,
}

/// Reads an extent tree. Only the root may be empty and file blocks must ascend, so no block is
/// read twice.
pub(super) fn read<R: ReadAt>(
    image: &Image<R>,
    inode: &DiskInode,
    budget: &mut Budget,
) -> Result<Mapping, ReadError> {
    let mut follower = Follower {
        image,
        structure: Structure::ExtentTree(inode.number),
        budget,
        due: Vec::new(),
        mapping: Mapping::default(),
    };
    let corrupt = |fault| follower.structure.corrupt(inode.offset_bytes, fault);
    let root = node(&inode.block, None).map_err(corrupt)?;
    let whole_file = Due {
        block: 0,
        depth: root.depth,
        start: 0,
        end: FILE_BLOCKS_END,
    };
    follower.enter(&root, whole_file, inode.offset_bytes)?;
    while let Some(next) = follower.due.pop() {
        follower.follow(next, inode.seed)?;
    }
    Ok(follower.mapping)
}

impl<R: ReadAt> Follower<'_, R> {
    /// Reads a node other than the root.
    fn follow(&mut self, next: Due, seed: u32) -> Result<(), ReadError> {
        let offset_bytes = next.block.saturating_mul(self.image.layout.block_size());
        self.claim((next.block, 1), offset_bytes)?;
        self.budget.keep(memory_of::<u64>(1))?;
        self.mapping.tree_blocks.push(next.block);
        let bytes = self.image.blocks.block(next.block)?;
        let corrupt = |fault| self.structure.corrupt(offset_bytes, fault);
        let found = node(&bytes, Some(next.depth)).map_err(corrupt)?;
        if self.image.layout.has_checksums() {
            check_checksum(&bytes, seed).map_err(corrupt)?;
        }
        self.enter(&found, next, offset_bytes)
    }

    /// Takes a node's entries: the extents of a leaf in order, or further nodes, of which the first
    /// is read first.
    fn enter(
        &mut self,
        node: &NodeBytes<'_>,
        place: Due,
        offset_bytes: u64,
    ) -> Result<(), ReadError> {
        let corrupt = |fault| self.structure.corrupt(offset_bytes, fault);
        match node.depth.checked_sub(1) {
            Some(depth) => {
                let below = children(node.entries, place, depth).map_err(corrupt)?;
                self.due.extend(below);
            }
            None => {
                for extent in extents(node.entries, place).map_err(corrupt)? {
                    self.claim((extent.start_block, extent.blocks), offset_bytes)?;
                    self.budget.keep(memory_of::<Extent>(1))?;
                    self.mapping.extents.push(extent);
                }
            }
        }
        Ok(())
    }

    fn claim(&mut self, blocks: (u64, u64), offset_bytes: u64) -> Result<(), ReadError> {
        self.image
            .claim(blocks, self.structure, offset_bytes, self.budget)
    }
}

/// Checks a node's header. `depth` is the depth that the parent implies; `None` for a root.
fn node(bytes: &[u8], depth: Option<u16>) -> Result<NodeBytes<'_>, Fault> {
    let (header, rest) = ExtentHeader::read_from_prefix(bytes).map_err(|_| Fault::ExtentHeader)?;
    let entries = usize::from(header.eh_entries.get());
    let most = usize::from(header.eh_max.get());
    let found = header.eh_depth.get();
    let is_sound = header.eh_magic.get() == EXTENT_MAGIC
        && found <= DEPTH_MAX
        && depth.is_none_or(|depth| depth == found && entries > 0)
        && (found == 0 || entries > 0)
        && entries <= most;
    let entries = rest.get(..entries * ENTRY_BYTES);
    let entries = entries.filter(|_| is_sound).ok_or(Fault::ExtentHeader)?;
    Ok(NodeBytes {
        entries,
        depth: found,
    })
}

fn check_checksum(bytes: &[u8], seed: u32) -> Result<(), Fault> {
    let most = usize::from(u16::from_le_bytes([bytes[4], bytes[5]]));
    let tail = HEADER_BYTES + most * ENTRY_BYTES;
    let stored = bytes.get(tail..).and_then(<[u8]>::first_chunk);
    let stored = u32::from_le_bytes(*stored.ok_or(Fault::ExtentHeader)?);
    match crc32c(seed, &bytes[..tail]) {
        computed if computed == stored => Ok(()),
        computed => Err(Fault::Checksum { stored, computed }),
    }
}

/// Returns the extents of a leaf.
fn extents(entries: &[u8], place: Due) -> Result<Vec<Extent>, Fault> {
    let mut extents = Vec::new();
    let mut next = place.start;
    for entry in entries.chunks_exact(ENTRY_BYTES) {
        let extent = leaf(entry);
        let end = extent.file_block + extent.blocks;
        if extent.file_block < next || extent.blocks == 0 || end > place.end {
            let file_block = extent.file_block;
            return Err(Fault::ExtentOrder { file_block });
        }
        next = end;
        extents.push(extent);
    }
    Ok(extents)
}

/// Returns the nodes below a node, the last of them first.
fn children(entries: &[u8], place: Due, depth: u16) -> Result<Vec<Due>, Fault> {
    let mut below = Vec::new();
    let mut end = place.end;
    for entry in entries.chunks_exact(ENTRY_BYTES).rev() {
        let index = ExtentIndex::read_from_bytes(entry).expect("a chunk of its length");
        let start = u64::from(index.ei_block.get());
        if start >= end || start < place.start {
            return Err(Fault::ExtentOrder { file_block: start });
        }
        below.push(Due {
            block: whole(index.ei_leaf_lo, index.ei_leaf_hi.get()),
            depth,
            start,
            end,
        });
        end = start;
    }
    Ok(below)
}

fn leaf(entry: &[u8]) -> Extent {
    let disk = format::Extent::read_from_bytes(entry).expect("a chunk of its length");
    let length = disk.ee_len.get();
    let is_written = length <= EXTENT_WRITTEN_MAX;
    let blocks = if is_written {
        length
    } else {
        length - EXTENT_WRITTEN_MAX
    };
    Extent {
        file_block: disk.ee_block.get().into(),
        blocks: blocks.into(),
        start_block: whole(disk.ee_start_lo, disk.ee_start_hi.get()),
        is_written,
    }
}
