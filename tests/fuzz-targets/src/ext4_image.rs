//! Bytes that claim to be an ext4 image, including its journal. The input consists of blocks of 1
//! KiB, each after its number in two bytes; all other bytes of the image are zeros.

use std::collections::BTreeSet;

use ext4_writer::{Extent, FileData, Image};
use fstree::{FileKind, Inode, Tree};

use crate::blocks::laid_out;
use crate::bounded::Bounded;

/// Largest file whose content is read, in bytes.
const FILE_BYTES: u64 = 1 << 20;
/// Longest dump, in bytes.
const DUMP_BYTES: usize = 1 << 20;
/// Memory for the metadata of one reading, in bytes: less than the image has.
const METADATA_BYTES: u64 = 1 << 20;
/// Length of a block of the input in bytes, and length of the image in such blocks.
const BLOCK_BYTES: usize = 1024;
const IMAGE_BLOCKS: usize = 2500;

/// Returns the least memory that a tree takes, in bytes: names, xattrs, targets, extents, inline content.
fn kept_bytes(tree: &Tree<FileData>) -> usize {
    let of_inode = |inode: &Inode<FileData>| {
        let xattrs = inode.metadata.xattrs.iter();
        let xattrs: usize = xattrs.map(|(name, value)| name.len() + value.len()).sum();
        let content = match &inode.kind {
            FileKind::Regular(data) => {
                let inline = data.inline.as_ref().map_or(0, |content| content.len());
                data.extents.len() * size_of::<Extent>() + inline
            }
            FileKind::Symlink(target) => target.len(),
            FileKind::Directory(names) => names.keys().map(|name| name.as_bytes().len()).sum(),
            _ => 0,
        };
        size_of::<Inode<FileData>>() + xattrs + content
    };
    let linked = tree.links().map(|link| link.id);
    let ids: BTreeSet<_> = linked.chain([tree.root()]).collect();
    ids.into_iter().map(|id| of_inode(tree.inode(id))).sum()
}

/// Reads the ext4 image that `bytes` describe.
///
/// # Panics
/// If the tree takes more memory than it may.
pub fn run(bytes: &[u8]) {
    let Ok(image) = Image::open_within(laid_out(bytes, BLOCK_BYTES, IMAGE_BLOCKS), METADATA_BYTES)
    else {
        return;
    };
    let _ = image.verify();
    let _ = image.dump(&mut Bounded(DUMP_BYTES));
    let Ok(tree) = image.read_tree() else { return };
    let kept = kept_bytes(&tree);
    assert!(kept as u64 <= METADATA_BYTES, "{kept} bytes are kept");
    for entry in tree.walk().take(100) {
        if let FileKind::Regular(data) = &entry.inode.kind
            && data.size_bytes <= FILE_BYTES
        {
            let _ = image.copy_file(data, &mut std::io::sink());
        }
    }
}
