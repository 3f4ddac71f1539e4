//! Files with more extents than an inode holds.

use std::io;
use std::ops::Range;

use ext4_writer::{FileContent, InvalidInode, OpenedContent, ReadAt, WriteError, write};
use fstree::{FileKind, Inode, Metadata, Tree};

use crate::listing::open;
use crate::mounted::{Mount, e2fsck};
use crate::options;
use crate::sample::name;

const BLOCK_BYTES: u64 = 4096;

/// A file whose data does not lie together; each byte of data depends on its offset.
struct Apart {
    size_bytes: u64,
    data: Vec<Range<u64>>,
}

impl Apart {
    /// Returns a file of `count` blocks of data, each behind a hole of one block.
    fn pieces(count: u64) -> Self {
        let piece = |number: u64| {
            let start = (2 * number + 1) * BLOCK_BYTES;
            start..start + BLOCK_BYTES
        };
        Self {
            size_bytes: 2 * count * BLOCK_BYTES + 77,
            data: (0..count).map(piece).collect(),
        }
    }

    fn byte(&self, offset_bytes: u64) -> u8 {
        let next = self.data.partition_point(|range| range.end <= offset_bytes);
        let is_data = self
            .data
            .get(next)
            .is_some_and(|range| range.start <= offset_bytes);
        let [low, high, ..] = (offset_bytes / 512).to_le_bytes();
        if is_data { low ^ high | 1 } else { 0 }
    }
}

impl ReadAt for &Apart {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        for (byte, offset_bytes) in buf.iter_mut().zip(offset_bytes..) {
            *byte = self.byte(offset_bytes);
        }
        Ok(())
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.size_bytes)
    }
}

impl FileContent for Apart {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn open(&self) -> io::Result<OpenedContent<'_>> {
        Ok(OpenedContent {
            bytes: Box::new(self),
            data: self.data.clone(),
        })
    }
}

fn tree_of(file: Apart) -> Tree<Apart> {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let id = tree.add(Inode {
        metadata: Metadata::with_mode(0o644),
        kind: FileKind::Regular(file),
    });
    tree.link(tree.root(), name("file"), id);
    tree
}

/// The counts need nodes in the inode, in one block, in several blocks, and in two levels of
/// blocks.
#[test]
fn oracle_pieces_and_holes_come_back() {
    for count in [0, 4, 5, 340, 341, 1361] {
        let file = Apart::pieces(count);
        let expected: Vec<u8> = (0..file.size_bytes).map(|at| file.byte(at)).collect();
        let size_bytes = file.size_bytes;
        let image = tempfile::NamedTempFile::new().expect("a temporary file");
        write(&tree_of(file), &options(64 << 20), image.as_file()).expect("written");
        e2fsck(image.path());
        let read = open(image.path());
        read.verify().unwrap_or_else(|error| panic!("{error:?}"));
        let tree = read.read_tree().expect("readable");
        let id = tree.find(b"file").expect("there");
        let FileKind::Regular(data) = &tree.inode(id).kind else {
            panic!("a file")
        };
        assert_eq!(data.size_bytes, size_bytes);
        let blocks: u64 = data.extents.iter().map(|extent| extent.blocks).sum();
        assert_eq!(blocks, count, "holes are kept");
        let mut content = Vec::new();
        read.copy_file(data, &mut content).expect("readable");
        assert!(content == expected, "{count} pieces");
        let mount = Mount::with(image.path(), "loop,ro,noload");
        let seen = std::fs::read(mount.path().join("file")).expect("readable");
        assert!(seen == expected, "{count} pieces, seen by the kernel");
    }
}

#[test]
fn a_file_that_is_too_long_is_refused() {
    let file = Apart {
        size_bytes: 16 << 40,
        data: Vec::new(),
    };
    let image = tempfile::tempfile().expect("a temporary file");
    let refused = write(&tree_of(file), &options(64 << 20), &image);
    let Err(WriteError::Inode { path, problem }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(path, b"file");
    assert!(matches!(problem, InvalidInode::Size { .. }), "{problem:?}");
}
