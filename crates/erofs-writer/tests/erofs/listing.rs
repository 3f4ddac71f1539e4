//! A tree as lines by which two trees are compared, regardless of the order of their inodes.

use std::collections::HashMap;

use erofs_writer::FileData;
use fstree::{FileKind, InodeId, Metadata, Tree};

/// A name of a tree, with its inode.
#[derive(Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) path: String,
    /// The first path of the same inode.
    pub(crate) first_path: String,
    pub(crate) metadata: Metadata,
    pub(crate) links: u64,
    pub(crate) kind: FileKind<FileData>,
}

/// Returns every name; the names that directories contain are left out of their kind.
pub(crate) fn lines(tree: &Tree<FileData>) -> Vec<Line> {
    let links = tree.link_counts();
    let mut first_paths: HashMap<InodeId, String> = HashMap::new();
    tree.walk()
        .map(|entry| {
            let path = entry.path.escape_ascii().to_string();
            let first_path = first_paths.entry(entry.id).or_insert_with(|| path.clone());
            Line {
                first_path: first_path.clone(),
                path,
                metadata: entry.inode.metadata.clone(),
                links: links[entry.id.index()],
                kind: match &entry.inode.kind {
                    FileKind::Directory(_) => FileKind::Directory(Default::default()),
                    FileKind::Regular(data) => FileKind::Regular(joined(data)),
                    other => other.clone(),
                },
            }
        })
        .collect()
}

/// Panics at the first line that differs.
pub(crate) fn assert_same(actual: &Tree<FileData>, expected: &Tree<FileData>) {
    let (actual, expected) = (lines(actual), lines(expected));
    for (actual, expected) in actual.iter().zip(&expected) {
        assert_eq!(actual, expected);
    }
    assert_eq!(actual.len(), expected.len());
}

fn joined(data: &FileData) -> FileData {
    let mut extents: Vec<erofs_writer::Extent> = Vec::new();
    for extent in &data.extents {
        match extents.last_mut() {
            Some(last)
                if last.device == extent.device
                    && last.file_block + last.blocks == extent.file_block
                    && u64::from(last.start_block) + last.blocks
                        == u64::from(extent.start_block) =>
            {
                last.blocks += extent.blocks;
            }
            _ => extents.push(*extent),
        }
    }
    FileData {
        size_bytes: data.size_bytes,
        extents,
        inline_offset_bytes: data.inline_offset_bytes,
    }
}
