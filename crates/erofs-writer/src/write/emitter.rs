use std::io::Write;

use fstree::InodeId;
use zerocopy::IntoBytes;

use super::addresses::Addresses;
use super::content::Content;
use super::output::Output;
use super::source::Source;
use crate::error::WriteError;
use crate::format::{BLOCK_BYTES, BLOCK_SIZE_BYTES, ChunkIndex, INODE_SLOT_BYTES, NULL_ADDRESS};
use crate::inode::{DiskInode, FileLayout, Layout};
use crate::length::{Length, blocks_of};

/// Writes the inodes and records the address of each one.
///
/// It runs twice, the first time into a sink. So one function decides the order of the metadata,
/// and no separate formula for sizes has to agree with it.
#[derive(Debug)]
pub(super) struct Emitter<'a, 'tree, W> {
    source: &'a Source<'tree>,
    addresses: &'a Addresses,
    out: Output<W>,
    area_offset: u64,
    learned: Learned,
}

/// The facts that a pass records.
#[derive(Debug)]
pub(super) struct Learned {
    /// The inodes' numbers, by [`InodeId::index`].
    pub(super) nids: Vec<u64>,
    /// The inodes with metadata outside of the inode area, in order, each with the length in bytes.
    pub(super) outside: Vec<(InodeId, usize)>,
    /// Number of blocks that this metadata takes.
    pub(super) outside_blocks: u64,
    /// Number of inodes that have been written.
    pub(super) inodes: u32,
    /// True if a file has a chunk map.
    pub(super) has_chunks: bool,
}

impl<'a, 'tree, W: Write> Emitter<'a, 'tree, W> {
    /// Returns an emitter whose metadata area starts at the current offset of `out`.
    pub(super) fn new(source: &'a Source<'tree>, addresses: &'a Addresses, out: Output<W>) -> Self {
        Self {
            area_offset: out.offset_bytes(),
            learned: Learned {
                nids: vec![0; source.tree.len()],
                outside: Vec::new(),
                outside_blocks: 0,
                inodes: 0,
                has_chunks: false,
            },
            source,
            addresses,
            out,
        }
    }

    /// Writes every inode with the bytes that follow it, then pads to a whole block.
    pub(super) fn inodes(mut self) -> Result<(Output<W>, Learned), WriteError> {
        // No inode has the nid 0: readdir takes an entry with inode number 0 for a deleted one.
        self.out.pad_to(self.area_offset + INODE_SLOT_BYTES)?;
        for &id in &self.source.census.order {
            let (mut inode, xattrs) = self
                .source
                .inode(id)
                .map_err(|problem| self.source.refuse(id, problem))?;
            self.learned.inodes += 1;
            inode.ino = self.learned.inodes;
            match self.source.content(id, self.addresses)? {
                Content::None(number) => {
                    inode.union = number;
                    self.put(id, inode, &xattrs, &[])?;
                }
                Content::Bytes(bytes) => self.put_metadata(id, inode, &xattrs, &bytes)?,
                Content::File(size_bytes, layout) => {
                    inode.size_bytes = size_bytes;
                    self.put_file(id, inode, &xattrs, &layout)?;
                }
            }
        }
        self.out.align(BLOCK_SIZE_BYTES)?;
        Ok((self.out, self.learned))
    }

    fn put_file(
        &mut self,
        id: InodeId,
        mut inode: DiskInode,
        xattrs: &[u8],
        layout: &FileLayout,
    ) -> Result<(), WriteError> {
        match layout {
            FileLayout::Empty => inode.union = NULL_ADDRESS,
            &FileLayout::Plain {
                device,
                start_block,
            } => inode.union = self.addresses.space.start(device) + start_block,
            FileLayout::Chunked(map) => {
                self.learned.has_chunks = true;
                inode.layout = Layout::ChunkBased;
                inode.union = map.format();
                self.put(id, inode, xattrs, &[])?;
                self.out.align(align_of_chunk_map())?;
                return map
                    .indexes()
                    .try_for_each(|index| self.out.write(index.as_bytes()));
            }
        }
        self.put(id, inode, xattrs, &[])
    }

    /// Writes a directory or a symbolic link. The last part follows the inode if both fit in one
    /// block; the rest goes outside of the inode area.
    fn put_metadata(
        &mut self,
        id: InodeId,
        mut inode: DiskInode,
        xattrs: &[u8],
        bytes: &[u8],
    ) -> Result<(), WriteError> {
        inode.size_bytes = bytes.length_bytes();
        let tail = bytes.len() % BLOCK_BYTES;
        let is_inline = tail > 0 && inode.form().bytes() + xattrs.len() + tail <= BLOCK_BYTES;
        let outside = if is_inline {
            bytes.len() - tail
        } else {
            bytes.len()
        };
        if is_inline {
            inode.layout = Layout::FlatInline;
        }
        if outside > 0 {
            let block = self.addresses.outside_block + self.learned.outside_blocks;
            inode.union =
                u32::try_from(block).map_err(|_| WriteError::TooLarge { blocks: block })?;
            self.learned.outside_blocks += blocks_of(bytes[..outside].length_bytes());
            self.learned.outside.push((id, outside));
        } else {
            inode.union = NULL_ADDRESS;
        }
        self.put(id, inode, xattrs, &bytes[outside..])
    }

    /// Writes one inode, its xattr area and its tail. An inode never crosses a block. If it has a
    /// tail, the inode, its xattrs and its tail together do not cross a block either.
    fn put(
        &mut self,
        id: InodeId,
        inode: DiskInode,
        xattrs: &[u8],
        tail: &[u8],
    ) -> Result<(), WriteError> {
        let head = inode.encode();
        let whole_bytes = match tail {
            [] => head.length_bytes(),
            _ => head.length_bytes() + xattrs.length_bytes() + tail.length_bytes(),
        };
        self.out.align(INODE_SLOT_BYTES)?;
        let room_bytes = BLOCK_SIZE_BYTES - self.out.offset_bytes() % BLOCK_SIZE_BYTES;
        if whole_bytes > room_bytes {
            self.out.align(BLOCK_SIZE_BYTES)?;
        }
        let area_bytes = self.out.offset_bytes() - self.area_offset;
        self.learned.nids[id.index()] = area_bytes / INODE_SLOT_BYTES;
        self.out.write(&head)?;
        self.out.write(xattrs)?;
        self.out.write(tail)
    }
}

/// Returns the alignment of chunk maps in bytes: the size of an entry. Xattr areas need only 4.
fn align_of_chunk_map() -> u64 {
    u64::try_from(size_of::<ChunkIndex>()).expect("8 fits")
}
