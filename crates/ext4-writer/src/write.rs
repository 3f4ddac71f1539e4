use std::io;

use fstree::{FileKind, Metadata, Name, Tree};
use zerocopy::{IntoBytes as _, U16, U32};

use crate::checksum::{START, crc32c};
use crate::content::blocks_with;
use crate::directory::{self, Entry};
use crate::extent::{self, ExtentTree, Run, TAIL_OFFSET};
use crate::format::{
    BG_BLOCK_UNINIT, BG_INODE_UNINIT, BG_INODE_ZEROED, BLOCK_BYTES, BLOCK_SIZE, GroupDescriptor,
    INODE_BYTES, JOURNAL_INODE, SUPERBLOCK_OFFSET, half_words, halves,
};
use crate::geometry::{Geometry, has_superblock};
use crate::inode::{self, Content, Payload};
use crate::length::{index_of, length};
use crate::plan::{Plan, Planned};
use crate::space::Space;
use crate::superblock::{self, Facts};
use crate::xattr::{self, XattrLocation};
use crate::{FileContent, Options, SparseOutput, WriteError};

/// Size of the buffer for a file's content, in bytes.
const PIECE_BYTES: u64 = 1 << 20;

/// Size and usage of a written image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Number of blocks in the filesystem.
    pub blocks: u64,
    /// Number of blocks that are not in use.
    pub free_blocks: u64,
    /// Number of inodes in the filesystem, in use or not.
    pub inodes: u32,
}

/// Writes an ext4 filesystem that contains `tree`. The same arguments produce the same bytes.
///
/// # Errors
/// If ext4 cannot have the size or the tree, if a file's content cannot be read, or if the output
/// fails. The output is then unusable.
pub fn write<C: FileContent>(
    tree: &Tree<C>,
    options: &Options,
    output: impl SparseOutput,
) -> Result<Summary, WriteError> {
    let geometry = Geometry::new(options)?;
    let plan = Plan::new(tree, geometry.inodes())?;
    let mut emitter = Emitter {
        tree,
        plan: &plan,
        geometry: &geometry,
        space: Space::new(&geometry),
        seed: crc32c(START, &options.uuid),
        output,
        used_dirs: vec![0; plan.inodes.len()],
    };
    emitter.set_len(options.size_bytes)?;
    let journal = emitter.write_journal(options)?;
    for (index, planned) in plan.inodes.iter().enumerate() {
        emitter.write_inode(index, planned)?;
    }
    emitter.write_groups(options, &journal)
}

struct Emitter<'a, C, O> {
    tree: &'a Tree<C>,
    plan: &'a Plan,
    geometry: &'a Geometry,
    space: Space<'a>,
    /// Checksum seed of the filesystem, computed from its UUID.
    seed: u32,
    output: O,
    /// Group plus 1 of each directory written so far; 0 for other inodes.
    used_dirs: Vec<u32>,
}

impl<C: FileContent, O: SparseOutput> Emitter<'_, C, O> {
    fn set_len(&mut self, size_bytes: u64) -> Result<(), WriteError> {
        let io_error = |source| WriteError::Io {
            offset_bytes: size_bytes,
            source,
        };
        self.output.set_len(size_bytes).map_err(io_error)
    }

    fn put(&mut self, bytes: &[u8], offset_bytes: u64) -> Result<(), WriteError> {
        let io_error = |source: io::Error| WriteError::Io {
            offset_bytes,
            source,
        };
        self.output
            .write_all_at(bytes, offset_bytes)
            .map_err(io_error)
    }

    /// Writes the journal first, so that it lies in one piece right after the first group's
    /// metadata.
    fn write_journal(&mut self, options: &Options) -> Result<ExtentTree, WriteError> {
        let runs = self.space.take(self.geometry.journal_blocks)?;
        let superblock = superblock::journal_superblock(self.geometry, options.uuid);
        if let Some(run) = runs.first() {
            self.put(superblock.as_bytes(), run.start_block * BLOCK_SIZE)?;
        }
        let extents = self.extents(&runs, JOURNAL_INODE)?;
        let metadata = Metadata::with_mode(0o600);
        let content = Content {
            st_mode: 0o100_600,
            metadata: &metadata,
            links: 1,
            size_bytes: self.geometry.journal_blocks * BLOCK_SIZE,
            payload: Payload::Extents(extents.clone()),
            xattr_block: 0,
            xattrs: &[],
        };
        self.put_inode(JOURNAL_INODE, &content, b"(journal)")?;
        Ok(extents)
    }

    fn write_inode(&mut self, index: usize, planned: &Planned) -> Result<(), WriteError> {
        let at = || WriteError::at(&planned.path);
        let tree = self.tree;
        let inode = tree.inode(planned.id);
        let (size_bytes, payload) = match inode::blockless(&inode.kind).map_err(at())? {
            Some(payload) => {
                let target = matches!(inode.kind, FileKind::Symlink(_));
                (if target { payload_bytes(&payload) } else { 0 }, payload)
            }
            None => self.write_blocks(index, planned)?,
        };
        let mut xattrs = Vec::new();
        let mut xattr_block = 0;
        match xattr::place(&inode.metadata.xattrs).map_err(at())? {
            XattrLocation::Nowhere => {}
            XattrLocation::InInode(bytes) => xattrs = bytes,
            XattrLocation::InBlock(bytes) => xattr_block = self.write_xattr_block(bytes)?,
        }
        let content = Content {
            st_mode: inode.st_mode(),
            metadata: &inode.metadata,
            links: planned.links,
            size_bytes,
            payload,
            xattr_block,
            xattrs: &xattrs,
        };
        self.put_inode(planned.number, &content, &planned.path)
    }

    /// Writes content that does not fit the inode. Returns its size in bytes and its location.
    fn write_blocks(
        &mut self,
        index: usize,
        planned: &Planned,
    ) -> Result<(u64, Payload), WriteError> {
        let tree = self.tree;
        let (size_bytes, runs) = match &tree.inode(planned.id).kind {
            FileKind::Regular(content) => self.write_file(content, &planned.path)?,
            FileKind::Symlink(target) => self.write_bytes(target)?,
            FileKind::Directory(names) => {
                self.used_dirs[index] = self.group_of(planned.number) + 1;
                let seed = inode::seed(self.seed, planned.number);
                let directory = self.encode_directory(planned, names, seed);
                self.write_bytes(&directory)?
            }
            _ => (0, Vec::new()),
        };
        let extents = self.extents(&runs, planned.number)?;
        Ok((size_bytes, Payload::Extents(extents)))
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Result<(u64, Vec<Run>), WriteError> {
        let size_bytes = length(bytes.len());
        let runs = self.space.take(size_bytes.div_ceil(BLOCK_SIZE))?;
        for run in &runs {
            let from = index_of(run.file_block * BLOCK_SIZE);
            let to = from
                .saturating_add(index_of(run.blocks * BLOCK_SIZE))
                .min(bytes.len());
            self.put(&bytes[from..to], run.start_block * BLOCK_SIZE)?;
        }
        Ok((size_bytes, runs))
    }

    /// Writes a file's content in pieces, without its holes.
    fn write_file(&mut self, content: &C, path: &[u8]) -> Result<(u64, Vec<Run>), WriteError> {
        let unreadable = |source| WriteError::Content {
            path: path.to_vec(),
            source,
        };
        let size_bytes = content.size_bytes();
        inode::check_size(size_bytes).map_err(WriteError::at(path))?;
        let opened = content.open().map_err(unreadable)?;
        let mut runs = Vec::new();
        for blocks in blocks_with(&opened.data, size_bytes) {
            for run in self.space.take(blocks.end - blocks.start)? {
                let run = Run {
                    file_block: run.file_block + blocks.start,
                    ..run
                };
                let end_bytes = ((run.file_block + run.blocks) * BLOCK_SIZE).min(size_bytes);
                let mut piece = Vec::new();
                let mut from = run.file_block * BLOCK_SIZE;
                while from < end_bytes {
                    piece.resize(index_of((end_bytes - from).min(PIECE_BYTES)), 0);
                    opened
                        .bytes
                        .read_exact_at(&mut piece, from)
                        .map_err(unreadable)?;
                    let offset_bytes = from - run.file_block * BLOCK_SIZE;
                    self.put(&piece, run.start_block * BLOCK_SIZE + offset_bytes)?;
                    from += length(piece.len());
                }
                runs.push(run);
            }
        }
        Ok((size_bytes, runs))
    }

    /// Builds the extent tree of an inode and writes the nodes that do not fit the inode.
    fn extents(&mut self, runs: &[Run], number: u32) -> Result<ExtentTree, WriteError> {
        let seed = inode::seed(self.seed, number);
        extent::tree(runs, |mut node| {
            let taken = self.space.take(1)?;
            let block = taken.first().map_or(0, |run| run.start_block);
            let crc = crc32c(seed, &node[..TAIL_OFFSET]);
            node[TAIL_OFFSET..].copy_from_slice(&crc.to_le_bytes());
            self.put(&node, block * BLOCK_SIZE)?;
            Ok(block)
        })
    }

    fn encode_directory(
        &self,
        planned: &Planned,
        names: &std::collections::BTreeMap<Name, fstree::InodeId>,
        seed: u32,
    ) -> Vec<u8> {
        let itself = Entry {
            inode: planned.number,
            name: b".",
            file_type: fstree::FileType::Directory,
        };
        let parent = Entry {
            inode: self.plan.number(planned.parent),
            name: b"..",
            ..itself
        };
        let children = names.iter().map(|(name, &id)| Entry {
            inode: self.plan.number(id),
            name: name.as_bytes(),
            file_type: self.tree.inode(id).kind.file_type(),
        });
        let entries: Vec<Entry<'_>> = [itself, parent].into_iter().chain(children).collect();
        directory::encode(&entries, seed)
    }

    fn write_xattr_block(&mut self, mut bytes: Vec<u8>) -> Result<u64, WriteError> {
        let runs = self.space.take(1)?;
        let block = runs.first().map_or(0, |run| run.start_block);
        xattr::seal(&mut bytes, self.seed, block);
        self.put(&bytes, block * BLOCK_SIZE)?;
        Ok(block)
    }

    fn put_inode(
        &mut self,
        number: u32,
        content: &Content<'_>,
        path: &[u8],
    ) -> Result<(), WriteError> {
        let seed = inode::seed(self.seed, number);
        let bytes = inode::encode(content, seed).map_err(WriteError::at(path))?;
        let index = u64::from((number - 1) % self.geometry.inodes_per_group);
        let table = self.geometry.inode_table(self.group_of(number)) * BLOCK_SIZE;
        self.put(&bytes, table + index * length(INODE_BYTES))
    }

    fn group_of(&self, number: u32) -> u32 {
        (number - 1) / self.geometry.inodes_per_group
    }

    /// Writes the bitmaps, then the descriptors and superblocks with all their copies.
    fn write_groups(
        &mut self,
        options: &Options,
        journal: &ExtentTree,
    ) -> Result<Summary, WriteError> {
        let geometry = self.geometry;
        let mut descriptors = Vec::new();
        for group in 0..geometry.groups {
            let descriptor = self.write_bitmaps(group)?;
            descriptors.extend_from_slice(descriptor.as_bytes());
        }
        let facts = Facts {
            free_blocks: self.space.free(),
            free_inodes: geometry.inodes() - self.plan.last_number(),
            journal,
        };
        let superblock = superblock::superblock(geometry, options, &facts)?;
        for group in (0..geometry.groups).filter(|&group| has_superblock(group)) {
            let first = geometry.first_block(group) * BLOCK_SIZE;
            let offset = if group == 0 { SUPERBLOCK_OFFSET } else { 0 };
            self.put(
                superblock::in_group(&superblock, group).as_bytes(),
                first + offset,
            )?;
            self.put(&descriptors, first + BLOCK_SIZE)?;
        }
        Ok(Summary {
            blocks: geometry.blocks,
            free_blocks: facts.free_blocks,
            inodes: geometry.inodes(),
        })
    }

    fn write_bitmaps(&mut self, group: u32) -> Result<GroupDescriptor, WriteError> {
        let geometry = self.geometry;
        let used_blocks = self.space.used(group);
        let group_blocks = geometry.group_blocks(group);
        let before = group * geometry.inodes_per_group;
        let used_inodes = self
            .plan
            .last_number()
            .saturating_sub(before)
            .min(geometry.inodes_per_group);
        let mut descriptor = self.descriptor(group, used_blocks, used_inodes);
        let mut flags = BG_INODE_ZEROED;
        // The kernel computes such a bitmap itself. The last group's is written, because that group
        // may be short and the kernel must not guess its end.
        let is_last = group + 1 == geometry.groups;
        if used_blocks == geometry.head_blocks(group) && !is_last {
            flags |= BG_BLOCK_UNINIT;
        } else {
            let bitmap = bitmap(used_blocks, group_blocks);
            self.put(&bitmap, geometry.block_bitmap(group) * BLOCK_SIZE)?;
            let csum = half_words(crc32c(self.seed, &bitmap));
            (
                descriptor.bg_block_bitmap_csum_lo,
                descriptor.bg_block_bitmap_csum_hi,
            ) = csum;
        }
        if used_inodes == 0 {
            flags |= BG_INODE_UNINIT;
        } else {
            let bitmap = bitmap(u64::from(used_inodes), u64::from(geometry.inodes_per_group));
            self.put(&bitmap, geometry.inode_bitmap(group) * BLOCK_SIZE)?;
            let covered = index_of(u64::from(geometry.inodes_per_group / 8));
            let csum = half_words(crc32c(self.seed, &bitmap[..covered]));
            (
                descriptor.bg_inode_bitmap_csum_lo,
                descriptor.bg_inode_bitmap_csum_hi,
            ) = csum;
        }
        descriptor.bg_flags = U16::new(flags);
        let crc = crc32c(
            crc32c(self.seed, &group.to_le_bytes()),
            descriptor.as_bytes(),
        );
        descriptor.bg_checksum = half_words(crc).0;
        Ok(descriptor)
    }

    fn descriptor(&self, group: u32, used_blocks: u64, used_inodes: u32) -> GroupDescriptor {
        let geometry = self.geometry;
        let mut descriptor = GroupDescriptor::default();
        let free_blocks = geometry.group_blocks(group) - used_blocks;
        let free_blocks = u32::try_from(free_blocks).expect("a group has 32768 blocks");
        let free_inodes = geometry.inodes_per_group - used_inodes;
        let directories = self.used_dirs.iter().filter(|&&of| of == group + 1).count();
        let directories = u32::try_from(directories).expect("no more than inodes");
        (descriptor.bg_block_bitmap_lo, descriptor.bg_block_bitmap_hi) =
            halves(geometry.block_bitmap(group));
        (descriptor.bg_inode_bitmap_lo, descriptor.bg_inode_bitmap_hi) =
            halves(geometry.inode_bitmap(group));
        (descriptor.bg_inode_table_lo, descriptor.bg_inode_table_hi) =
            halves(geometry.inode_table(group));
        (
            descriptor.bg_free_blocks_count_lo,
            descriptor.bg_free_blocks_count_hi,
        ) = half_words(free_blocks);
        (
            descriptor.bg_free_inodes_count_lo,
            descriptor.bg_free_inodes_count_hi,
        ) = half_words(free_inodes);
        (
            descriptor.bg_itable_unused_lo,
            descriptor.bg_itable_unused_hi,
        ) = half_words(free_inodes);
        (
            descriptor.bg_used_dirs_count_lo,
            descriptor.bg_used_dirs_count_hi,
        ) = half_words(directories);
        descriptor.bg_reserved = U32::new(0);
        descriptor
    }
}

/// Returns a block of bits. The first `used` are set, and so are those past `valid`, which have no
/// meaning.
fn bitmap(used: u64, valid: u64) -> Vec<u8> {
    let mut bytes = vec![0_u8; BLOCK_BYTES];
    for (index, byte) in bytes.iter_mut().enumerate() {
        let first = length(index) * 8;
        for bit in 0..8_u8 {
            let number = first + u64::from(bit);
            if number < used || number >= valid {
                *byte |= 1 << bit;
            }
        }
    }
    bytes
}

fn payload_bytes(payload: &Payload) -> u64 {
    match payload {
        Payload::Bytes(bytes) => length(bytes.len()),
        Payload::Extents(_) => 0,
    }
}
