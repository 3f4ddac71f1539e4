use fstree::FileType;

use super::budget::{ALLOCATION_BYTES, Budget, memory_of};
use super::inode::DiskInode;
use super::mapping::Mapping;
use super::node::{Body, Node};
use super::{Fault, Image, ReadAt, ReadError, Structure, dirent, inline, xattrs};
use crate::format::INLINE_DATA_FL;

/// Longest target of a symlink (`PATH_MAX` without its NUL), in bytes.
const SYMLINK_MAX: u64 = 4095;
/// Approximate memory of one inode: in the tree, and in the tables of the inodes found, in bytes.
const INODE_BYTES: u64 = 200;

/// Reader of inodes. It reads none twice, so that no block has to be claimed twice.
#[derive(Debug)]
pub(crate) struct NodeReader<'image, R> {
    image: &'image Image<R>,
    budget: Budget,
}

impl<'image, R: ReadAt> NodeReader<'image, R> {
    pub(crate) fn new(image: &'image Image<R>) -> Self {
        Self {
            image,
            budget: Budget::new(image.layout.blocks, image.memory),
        }
    }

    /// Reads an inode; `number` is from 1 to the number of inodes.
    pub(crate) fn read(&mut self, number: u32) -> Result<Node, ReadError> {
        let inode = self.image.inode(number)?;
        self.budget.keep(INODE_BYTES)?;
        let found = xattrs::read(self.image, &inode, &mut self.budget)?;
        let data = found.inline_data.as_deref();
        let mut mapping = Mapping::default();
        let is_inline = inode.flags & INLINE_DATA_FL != 0;
        let body = match inode.file_type {
            FileType::Directory if is_inline => Body::Directory(inline::entries(
                &self.image.layout,
                &inode,
                data,
                &mut self.budget,
            )?),
            FileType::Regular if is_inline => Body::Inline(inline::content(&inode, data)?),
            FileType::Symlink if is_inline => {
                let target = inline::content(&inode, data)?;
                Body::Symlink(checked_target(&inode, target)?)
            }
            FileType::Symlink if inode.is_fast_symlink(self.image.layout.block_size()) => {
                let target = inline::content(&inode, None)?;
                Body::Symlink(checked_target(&inode, target)?)
            }
            FileType::Regular => {
                mapping = self.image.mapping(&inode, &mut self.budget)?;
                Body::Mapped
            }
            FileType::Directory => {
                mapping = self.image.mapping(&inode, &mut self.budget)?;
                Body::Directory(dirent::read(
                    self.image,
                    &inode,
                    &mapping,
                    &mut self.budget,
                )?)
            }
            FileType::Symlink => {
                mapping = self.image.mapping(&inode, &mut self.budget)?;
                Body::Symlink(self.target(&inode, &mapping)?)
            }
            _ => Body::None,
        };
        if let Body::Symlink(content) | Body::Inline(content) = &body {
            let content_bytes = memory_of::<u8>(content.len());
            self.budget.keep(content_bytes + ALLOCATION_BYTES)?;
        }
        Ok(Node {
            inode,
            xattrs: found.xattrs,
            mapping,
            body,
        })
    }

    /// Returns the target of a symlink that has blocks.
    fn target(&self, inode: &DiskInode, mapping: &Mapping) -> Result<Vec<u8>, ReadError> {
        let corrupt = |fault| Structure::Symlink(inode.number).corrupt(inode.offset_bytes, fault);
        if inode.size_bytes > SYMLINK_MAX {
            return Err(corrupt(Fault::Target));
        }
        let mut target = Vec::new();
        for file_block in 0..inode.size_bytes.div_ceil(self.image.layout.block_size()) {
            let block = mapping.locate(file_block);
            let block = block.ok_or_else(|| corrupt(Fault::Hole { file_block }))?;
            target.extend_from_slice(&self.image.blocks.block(block)?);
        }
        target.truncate(usize::try_from(inode.size_bytes).unwrap_or(0));
        checked_target(inode, target)
    }
}

fn checked_target(inode: &DiskInode, target: Vec<u8>) -> Result<Vec<u8>, ReadError> {
    if target.is_empty() || target.contains(&0) {
        let structure = Structure::Symlink(inode.number);
        return Err(structure.corrupt(inode.offset_bytes, Fault::Target));
    }
    Ok(target)
}
