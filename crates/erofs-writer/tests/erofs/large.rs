//! Sizes beyond 32 bits, and many names.

use std::fs::File;
use std::io::Cursor;
use std::os::unix::fs::FileExt;

use erofs_writer::{DeviceSlot, Extent, FileData, Image, ImageWriter, Options};
use fstree::{FileKind, Inode, Metadata, Tree};

use crate::listing::assert_same;
use crate::mounted::Mounted;
use crate::samples::name;

const GIB: u64 = 1 << 30;
const BLOCKS_PER_GIB: u32 = 1 << 18;

fn regular(data: FileData) -> Inode<FileData> {
    Inode {
        metadata: Metadata::with_mode(0o644),
        kind: FileKind::Regular(data),
    }
}

fn write(tree: &Tree<FileData>, options: Options) -> Vec<u8> {
    let writer = ImageWriter::new(Cursor::new(Vec::new()), options).unwrap();
    writer.finish(tree).unwrap().0.into_inner()
}

/// Returns a file of 5 GiB in one run, and one of 6 GiB of which only the third GiB has data.
fn huge_files() -> (Tree<FileData>, Vec<u8>) {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let whole = Extent {
        file_block: 0,
        blocks: u64::from(BLOCKS_PER_GIB) * 5,
        device: 1,
        start_block: 0,
    };
    let part = Extent {
        file_block: u64::from(BLOCKS_PER_GIB) * 2,
        blocks: u64::from(BLOCKS_PER_GIB),
        device: 1,
        start_block: BLOCKS_PER_GIB * 4,
    };
    for (file_name, size_bytes, extent) in [("whole", 5 * GIB - 1, whole), ("part", 6 * GIB, part)]
    {
        let data = FileData {
            size_bytes,
            extents: vec![extent],
            ..FileData::default()
        };
        let id = tree.add(regular(data));
        tree.link(tree.root(), name(file_name), id);
    }
    let device = DeviceSlot {
        tag: "huge".into(),
        blocks: BLOCKS_PER_GIB * 5,
    };
    let options = Options {
        devices: vec![device],
        ..Options::default()
    };
    let image = write(&tree, options);
    (tree, image)
}

#[test]
fn files_past_4_gib() {
    let (tree, image) = huge_files();
    let image = Image::open(image).unwrap();
    assert_same(&image.read_tree().unwrap(), &tree);
    image.verify().unwrap();
}

#[test]
fn oracle_kernel_files_past_4_gib() {
    let (_, mut image) = huge_files();
    let length_bytes = u64::try_from(image.len()).unwrap() + 5 * GIB;
    image.extend(b"the device starts here");
    let mounted = Mounted::with_length(&image, length_bytes);
    let whole = File::open(mounted.root().join("whole")).unwrap();
    let part = File::open(mounted.root().join("part")).unwrap();
    assert_eq!(whole.metadata().unwrap().len(), 5 * GIB - 1);
    assert_eq!(part.metadata().unwrap().len(), 6 * GIB);
    let mut start = [0; 22];
    whole.read_exact_at(&mut start, 0).unwrap();
    assert_eq!(&start, b"the device starts here");
    for (file, offset) in [(whole, 5 * GIB - 23), (part, 3 * GIB - 11)] {
        file.read_exact_at(&mut start, offset).unwrap();
        assert_eq!(start, [0; 22]);
    }
}

#[test]
fn a_hundred_thousand_names_and_a_long_path() {
    let mut tree: Tree<FileData> = Tree::new(Metadata::directory(0o755));
    let root = tree.root();
    for number in 0..100_000 {
        let id = tree.add(regular(FileData::default()));
        tree.link(root, name(format!("file number {number}")), id);
    }
    let mut deep = root;
    for _ in 0..20_000 {
        let next = tree.add(Inode::directory(Metadata::directory(0o755)));
        tree.link(deep, name("d"), next);
        deep = next;
    }
    let image = Image::open(write(&tree, Options::default())).unwrap();
    let read = image.read_tree().unwrap();
    assert_eq!(read.len(), tree.len());
    assert_eq!(read.directory(read.root()).unwrap().len(), 100_001);
    assert_eq!(image.verify().unwrap().directories, 20_001);
}
