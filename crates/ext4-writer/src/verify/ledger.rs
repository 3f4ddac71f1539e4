use std::collections::{BTreeSet, HashMap};

use super::{Report, VerifyError, check_count, inconsistent};
use crate::features::RoCompat;
use crate::format::{HUGE_FILE_FL, ROOT_INODE};
use crate::read::{Body, DirEntry, Fault, Layout, Node, Structure};

/// Record of the inodes and names visited so far.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) report: Report,
    /// Inodes that have a name.
    pub(super) inodes: BTreeSet<u32>,
    /// Directories that have a name.
    pub(super) directories: BTreeSet<u32>,
    parents: HashMap<u32, u32>,
    links: HashMap<u32, Links>,
}

#[derive(Debug, Default)]
struct Links {
    stored: u16,
    counted: u64,
    offset_bytes: u64,
    is_directory: bool,
}

impl Ledger {
    pub(super) fn enter(&mut self, layout: &Layout, node: &Node) -> Result<(), VerifyError> {
        let inode = &node.inode;
        self.report.inodes += 1;
        self.inodes.insert(inode.number);
        let links = self.links.entry(inode.number).or_default();
        links.stored = inode.links;
        links.offset_bytes = inode.offset_bytes;
        match &node.body {
            Body::Directory(entries) => {
                links.is_directory = true;
                self.directories.insert(inode.number);
                self.enter_directory(node, entries)?;
            }
            Body::Mapped | Body::Inline(_) => {
                self.report.regular_files += 1;
                let content_bytes = self.report.content_bytes;
                self.report.content_bytes = content_bytes.saturating_add(inode.size_bytes);
            }
            _ => {}
        }
        check_sectors(layout, node)
    }

    fn enter_directory(&mut self, node: &Node, entries: &[DirEntry]) -> Result<(), VerifyError> {
        let number = node.inode.number;
        self.report.directories += 1;
        let parent = match number {
            ROOT_INODE => Some(number),
            _ => self.parents.get(&number).copied(),
        };
        let named = |name: &[u8]| {
            let mut with = entries.iter().filter(|entry| *entry.name == *name);
            let first = with.next().map(|entry| entry.inode);
            first.filter(|_| with.next().is_none())
        };
        if named(b".") != Some(number) || parent.is_none() || named(b"..") != parent {
            let structure = Structure::Directory(number);
            return Err(inconsistent(
                structure,
                node.inode.offset_bytes,
                Fault::Dots,
            ));
        }
        for entry in entries {
            self.links.entry(entry.inode).or_default().counted += 1;
            if !entry.is_dots() {
                self.parents.insert(entry.inode, number);
            }
        }
        Ok(())
    }

    /// Checks the link count of every inode. A directory that once had too many links keeps the
    /// count 1.
    pub(super) fn close(&mut self) -> Result<(), VerifyError> {
        self.report.directories = u64::try_from(self.directories.len()).unwrap_or(u64::MAX);
        for (&number, links) in &self.links {
            if links.is_directory && links.stored == 1 {
                continue;
            }
            let place = (Structure::Inode(number), links.offset_bytes);
            check_count(place, "links", links.stored.into(), links.counted)?;
        }
        Ok(())
    }
}

/// Checks `i_blocks` of an inode: its content, its map and its xattr block.
fn check_sectors(layout: &Layout, node: &Node) -> Result<(), VerifyError> {
    let inode = &node.inode;
    let content: u64 = node
        .mapping
        .extents
        .iter()
        .map(|extent| extent.blocks)
        .sum();
    let tree = u64::try_from(node.mapping.tree_blocks.len()).unwrap_or(u64::MAX);
    let blocks = content + tree + u64::from(inode.xattr_block != 0);
    let in_blocks =
        layout.ro_compat.contains(RoCompat::HUGE_FILE) && inode.flags & HUGE_FILE_FL != 0;
    let unit = if in_blocks {
        1
    } else {
        layout.block_size() / 512
    };
    let place = (Structure::Inode(inode.number), inode.offset_bytes);
    check_count(place, "sectors", inode.sectors, blocks.saturating_mul(unit))
}
