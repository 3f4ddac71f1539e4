use std::collections::BTreeMap;

use fstree::{FileKind, FileType, InodeId, Name, Tree};

use super::emitter::Emitter;
use crate::directory::{self, Entry};
use crate::format::BLOCK_SIZE;
use crate::inode::{self, Content, Payload};
use crate::length::{index_of, length};
use crate::outside::Outside;
use crate::plan::{Plan, Planned};
use crate::xattr::{self, XattrLocation};
use crate::{FileContent, SparseOutput, WriteError};

/// Writes inodes, each after its content.
pub(super) struct InodeWriter<'a, 'b, C, O> {
    tree: &'a Tree<C>,
    plan: &'a Plan,
    outside: &'a Outside,
    emitter: &'a mut Emitter<'b, O>,
    /// Number of directories written so far, by group.
    directories: Vec<u32>,
}

impl<'a, 'b, C: FileContent, O: SparseOutput> InodeWriter<'a, 'b, C, O> {
    /// Returns a writer of the inodes of `tree`.
    pub(super) fn new(
        tree: &'a Tree<C>,
        plan: &'a Plan,
        outside: &'a Outside,
        emitter: &'a mut Emitter<'b, O>,
    ) -> Self {
        let groups = index_of(u64::from(emitter.geometry.groups));
        Self {
            tree,
            plan,
            outside,
            emitter,
            directories: vec![0; groups],
        }
    }

    /// Returns the number of directories that were written, by group.
    pub(super) fn into_directories(self) -> Vec<u32> {
        self.directories
    }

    /// Writes the content of an inode, its xattrs and the inode.
    pub(super) fn write(&mut self, planned: &Planned) -> Result<(), WriteError> {
        let at = || WriteError::at(&planned.path);
        let tree = self.tree;
        let inode = tree.inode(planned.id);
        let (size_bytes, payload) = match inode::blockless(&inode.kind).map_err(at())? {
            Some(payload) => {
                let target = matches!(inode.kind, FileKind::Symlink(_));
                (if target { payload_bytes(&payload) } else { 0 }, payload)
            }
            None => self.write_blocks(planned)?,
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
        self.emitter
            .put_inode(planned.number, &content, &planned.path)
    }

    /// Writes content that does not fit the inode. Returns its size in bytes and its location.
    fn write_blocks(&mut self, planned: &Planned) -> Result<(u64, Payload), WriteError> {
        let tree = self.tree;
        let (size_bytes, runs) = match &tree.inode(planned.id).kind {
            FileKind::Regular(content) => match self.outside.runs_of(planned.id) {
                Some(runs) => (content.size_bytes(), runs.to_vec()),
                None => self.emitter.write_file(content, &planned.path)?,
            },
            FileKind::Symlink(target) => self.emitter.write_bytes(target)?,
            FileKind::Directory(names) => {
                let group = self.emitter.group_of(planned.number);
                self.directories[index_of(u64::from(group))] += 1;
                let seed = inode::seed(self.emitter.seed, planned.number);
                let directory = self.encode_directory(planned, names, seed);
                self.emitter.write_bytes(&directory)?
            }
            _ => (0, Vec::new()),
        };
        let extents = self.emitter.extents(&runs, planned.number)?;
        Ok((size_bytes, Payload::Extents(extents)))
    }

    fn encode_directory(
        &self,
        planned: &Planned,
        names: &BTreeMap<Name, InodeId>,
        seed: u32,
    ) -> Vec<u8> {
        let itself = Entry {
            inode: planned.number,
            name: b".",
            file_type: FileType::Directory,
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
        let runs = self.emitter.space.take(1)?;
        let block = runs.first().map_or(0, |run| run.start_block);
        xattr::seal(&mut bytes, self.emitter.seed, block);
        self.emitter.put(&bytes, block * BLOCK_SIZE)?;
        Ok(block)
    }
}

fn payload_bytes(payload: &Payload) -> u64 {
    match payload {
        Payload::Bytes(bytes) => length(bytes.len()),
        Payload::Extents(_) => 0,
    }
}
