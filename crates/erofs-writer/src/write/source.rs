use fstree::{InodeId, Tree};

use super::addresses::Addresses;
use super::census::Census;
use super::content::Content;
use crate::FileData;
use crate::error::{InvalidInode, WriteError};
use crate::inode::{DiskInode, Layout, Limits};
use crate::xattr::{SharedXattrs, encode_body};

/// The content of the metadata, which is the same for both passes.
#[derive(Debug)]
pub(super) struct Source<'tree> {
    pub(super) tree: &'tree Tree<FileData>,
    pub(super) census: Census,
    pub(super) shared: SharedXattrs<'tree>,
    pub(super) limits: Limits<'tree>,
}

impl<'tree> Source<'tree> {
    /// Counts the inodes and finds the xattrs that they share.
    pub(super) fn new(
        tree: &'tree Tree<FileData>,
        limits: Limits<'tree>,
    ) -> Result<Self, WriteError> {
        let census = Census::take(tree)?;
        let xattrs = census
            .order
            .iter()
            .map(|&id| (id, &tree.inode(id).metadata.xattrs));
        let shared =
            SharedXattrs::plan(xattrs).map_err(|(id, problem)| census.refuse(tree, id, problem))?;
        Ok(Self {
            tree,
            census,
            shared,
            limits,
        })
    }

    /// Returns the content of `id`, with the addresses known so far.
    pub(super) fn content(
        &self,
        id: InodeId,
        addresses: &Addresses,
    ) -> Result<Content<'_>, WriteError> {
        Content::plan(id, self.tree, &self.census, &self.limits, &addresses.nids)
            .map_err(|problem| self.refuse(id, problem))
    }

    pub(super) fn refuse(&self, id: InodeId, problem: InvalidInode) -> WriteError {
        self.census.refuse(self.tree, id, problem)
    }

    /// Returns the inode, without the fields that depend on its content, and its xattr area.
    pub(super) fn inode(&self, id: InodeId) -> Result<(DiskInode, Vec<u8>), InvalidInode> {
        let inode = self.tree.inode(id);
        let metadata = &inode.metadata;
        if metadata.mtime.nanoseconds >= 1_000_000_000 {
            return Err(InvalidInode::Nanoseconds {
                nanoseconds: metadata.mtime.nanoseconds,
            });
        }
        let xattrs = encode_body(&metadata.xattrs, &self.shared)?;
        let slots = xattrs.len().checked_sub(12).map_or(0, |rest| rest / 4 + 1);
        let disk = DiskInode {
            layout: Layout::FlatPlain,
            xattr_icount: u16::try_from(slots).expect("an xattr area has a checked length"),
            mode: inode.st_mode(),
            size_bytes: 0,
            union: 0,
            ino: 0,
            uid: metadata.uid,
            gid: metadata.gid,
            mtime: metadata.mtime,
            nlink: self.census.links(id)?,
        };
        Ok((disk, xattrs))
    }
}
