use std::collections::BTreeMap;

use zerocopy::FromBytes as _;

use super::{VerifyError, check_count, inconsistent};
use crate::features::{Compat, Incompat, RoCompat};
use crate::format::{RESIZE_INODE, XattrHeader};
use crate::read::{Body, Fault, Image, Mapping, Node, Nodes, ReadAt, ReadError, Structure};

/// Consecutive blocks that belong to one structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) start_block: u64,
    pub(crate) blocks: u64,
    pub(crate) structure: Structure,
}

/// Blocks in use, with the structure that each belongs to.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    pub(crate) regions: Vec<Region>,
    /// Inodes in use that have no name.
    pub(crate) hidden: Vec<u32>,
    /// For each xattr block, the first inode that uses it and the number of inodes that do.
    xattr_blocks: BTreeMap<u64, (u32, u64)>,
}

impl Region {
    pub(crate) const fn end(&self) -> u64 {
        self.start_block.saturating_add(self.blocks)
    }
}

impl Usage {
    /// Returns the blocks of the groups' own metadata.
    pub(crate) fn read_groups<R: ReadAt>(image: &Image<R>) -> Result<Self, ReadError> {
        let mut usage = Self::default();
        for group in 0..image.layout.groups {
            usage.head(image, group);
            let found = image.group(group)?;
            usage.add(found.block_bitmap, 1, Structure::BlockBitmap(group));
            usage.add(found.inode_bitmap, 1, Structure::InodeBitmap(group));
            let table_blocks = image.layout.inode_table_blocks();
            usage.add(
                found.inode_table,
                table_blocks,
                Structure::InodeTable(group),
            );
        }
        Ok(usage)
    }

    /// Adds the superblock and descriptors at a group's start (`ext4_num_base_meta_blocks`).
    fn head<R>(&mut self, image: &Image<R>, group: u32) {
        let layout = &image.layout;
        let mut next = layout.first_block(group);
        if layout.has_superblock(group) {
            let structure = match group {
                0 => Structure::SuperBlock,
                _ => Structure::SuperBlockCopy(group),
            };
            if group == 0 {
                next = layout.superblock_block();
            }
            self.add(next, 1, structure);
            next += 1;
            let together = u64::from(layout.descriptor_blocks_together());
            self.add(next, together, Structure::Descriptors(group));
            next += together;
            let reserved = u64::from(layout.disk.s_reserved_gdt_blocks.get());
            if reserved > 0 && !layout.incompat.contains(Incompat::META_BG) {
                self.add(next, reserved, Structure::ReservedDescriptors(group));
            }
        }
        let per_block = layout.descriptors_per_block();
        let apart = group / per_block >= layout.descriptor_blocks_together();
        if apart && (matches!(group % per_block, 0 | 1) || group % per_block == per_block - 1) {
            self.add(next, 1, Structure::Descriptors(group));
        }
    }

    fn add(&mut self, start_block: u64, blocks: u64, structure: Structure) {
        if blocks > 0 {
            self.regions.push(Region {
                start_block,
                blocks,
                structure,
            });
        }
    }

    /// Adds the blocks of an inode.
    pub(crate) fn enter(&mut self, node: &Node) {
        let number = node.inode.number;
        let content = match node.body {
            Body::Directory(_) => Structure::Directory(number),
            Body::Symlink(_) => Structure::Symlink(number),
            _ => Structure::FileData(number),
        };
        let tree = if node.inode.has_extents() {
            Structure::ExtentTree(number)
        } else {
            Structure::IndirectMap(number)
        };
        self.map(&node.mapping, content, tree);
        let block = node.inode.xattr_block;
        if block != 0 {
            let uses = self.xattr_blocks.entry(block).or_insert((number, 0));
            uses.1 += 1;
            if uses.1 == 1 {
                self.add(block, 1, Structure::Xattrs(number));
            }
        }
    }

    fn map(&mut self, mapping: &Mapping, content: Structure, tree: Structure) {
        for extent in &mapping.extents {
            self.add(extent.start_block, extent.blocks, content);
        }
        for &block in &mapping.tree_blocks {
            self.add(block, 1, tree);
        }
    }

    /// Adds the inodes in use that have no name: those of the journal, the quotas and the orphan
    /// file.
    pub(crate) fn enter_hidden<R: ReadAt>(
        &mut self,
        image: &Image<R>,
        nodes: &mut Nodes<'_, R>,
    ) -> Result<(), ReadError> {
        let layout = &image.layout;
        let disk = &layout.disk;
        let has_quota = layout.ro_compat.contains(RoCompat::QUOTA);
        let has_projects = has_quota && layout.ro_compat.contains(RoCompat::PROJECT);
        let hidden = [
            (Compat::HAS_JOURNAL, true, disk.s_journal_inum),
            (Compat::ORPHAN_FILE, true, disk.s_orphan_file_inum),
            (Compat::empty(), has_quota, disk.s_usr_quota_inum),
            (Compat::empty(), has_quota, disk.s_grp_quota_inum),
            (Compat::empty(), has_projects, disk.s_prj_quota_inum),
        ];
        for (feature, is_there, number) in hidden {
            let number = number.get();
            if !layout.compat.contains(feature) || !is_there || number == 0 {
                continue;
            }
            let node = nodes.hidden(number)?;
            self.enter(&node);
            self.hidden.push(number);
        }
        if layout.incompat.contains(Incompat::MMP) {
            self.add(disk.s_mmp_block.get(), 1, Structure::MultiMount);
        }
        if layout.compat.contains(Compat::RESIZE_INODE) {
            // The inode maps the reserved blocks, which were added above; only the block of the map
            // is new.
            let inode = image.inode(RESIZE_INODE)?;
            let word = inode.block[13 * 4..].first_chunk().expect("60 bytes");
            let table = u64::from(u32::from_le_bytes(*word));
            if table != 0 {
                self.add(table, 1, Structure::IndirectMap(RESIZE_INODE));
            }
        }
        Ok(())
    }

    /// Sorts the regions by block, and checks that none overlap.
    pub(crate) fn sort(&mut self, block_size: u64) -> Result<(), VerifyError> {
        self.regions.sort_by_key(|region| region.start_block);
        for pair in self.regions.windows(2) {
            if pair[1].start_block < pair[0].end() {
                let fault = Fault::Overlap {
                    other: pair[0].structure,
                    block: pair[0].start_block,
                };
                let offset_bytes = pair[1].start_block.saturating_mul(block_size);
                return Err(inconsistent(pair[1].structure, offset_bytes, fault));
            }
        }
        Ok(())
    }

    /// Checks the reference count of each xattr block.
    pub(super) fn check_xattr_blocks<R: ReadAt>(
        &self,
        image: &Image<R>,
    ) -> Result<(), VerifyError> {
        for (&block, &(number, counted)) in &self.xattr_blocks {
            let bytes = image.blocks.block(block)?;
            let stored = XattrHeader::read_from_prefix(&bytes)
                .map_or(0, |(header, _)| header.h_refcount.get());
            let offset_bytes = block.saturating_mul(image.layout.block_size());
            let place = (Structure::Xattrs(number), offset_bytes);
            check_count(place, "users", stored.into(), counted)?;
        }
        Ok(())
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.regions.iter().map(|region| region.blocks).sum()
    }
}
