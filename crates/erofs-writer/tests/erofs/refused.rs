//! Trees that cannot be stored are refused, with the path.

use std::error::Error;
use std::io::Cursor;

use erofs_writer::{
    DeviceSlot, Extent, FileData, ImageWriter, InvalidInode, InvalidOptions, Options, WriteError,
};
use fstree::{Device, FileKind, Inode, Metadata, Timestamp, Tree};

use crate::samples::{name, xattrs};

fn refusal(inode: Inode<FileData>) -> InvalidInode {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let sub = tree.add(Inode::directory(Metadata::directory(0o755)));
    let id = tree.add(inode);
    tree.link(tree.root(), name("sub"), sub);
    tree.link(sub, name(b"f\xff"), id);
    let options = Options {
        devices: vec![DeviceSlot {
            tag: String::new(),
            blocks: 10,
        }],
        ..Options::default()
    };
    let writer = ImageWriter::new(Cursor::new(Vec::new()), options).unwrap();
    match writer.finish(&tree) {
        Err(WriteError::Input { path, problem }) => {
            assert_eq!(path, r"/sub/f\xff");
            problem
        }
        other => panic!("{other:?}"),
    }
}

fn special(metadata: Metadata, kind: FileKind<FileData>) -> InvalidInode {
    refusal(Inode { metadata, kind })
}

fn regular(size_bytes: u64, extents: &[(u64, u64, u16, u32)]) -> InvalidInode {
    let extents = extents
        .iter()
        .map(|&(file_block, blocks, device, start_block)| Extent {
            file_block,
            blocks,
            device,
            start_block,
        });
    let data = FileData {
        size_bytes,
        extents: extents.collect(),
        ..FileData::default()
    };
    special(Metadata::default(), FileKind::Regular(data))
}

#[test]
fn extents_that_lie_nowhere() {
    let order = |file_block| InvalidInode::ExtentOrder { file_block };
    assert_eq!(regular(4096, &[(0, 2, 1, 0)]), order(0), "past the end");
    assert_eq!(regular(4096, &[(0, 0, 1, 0)]), order(0), "empty");
    assert_eq!(
        regular(9000, &[(1, 1, 1, 0), (0, 1, 1, 1)]),
        order(0),
        "descending"
    );
    assert_eq!(
        regular(9000, &[(0, 2, 1, 0), (1, 1, 1, 5)]),
        order(1),
        "overlapping"
    );
    let bounds = |device, start_block, end_block| InvalidInode::ExtentBounds {
        device,
        start_block,
        end_block,
    };
    assert_eq!(
        regular(8192, &[(0, 2, 1, 9)]),
        bounds(1, 9, 11),
        "past the device"
    );
    assert_eq!(
        regular(4096, &[(0, 1, 2, 0)]),
        bounds(2, 0, 1),
        "no such device"
    );
    assert_eq!(
        regular(4096, &[(0, 1, 0, 0)]),
        bounds(0, 0, 1),
        "the superblock"
    );
    let size_bytes = u64::MAX;
    assert_eq!(
        regular(size_bytes, &[]),
        InvalidInode::FileSize { size_bytes }
    );
    let scattered = regular(1 << 40, &[(1, 1, 1, 0)]);
    assert_eq!(scattered, InvalidInode::TooManyChunks { chunks: 1 << 28 });
}

#[test]
fn inodes_that_have_no_place_on_disk() {
    let plain = Metadata::default;
    let link = |target: &[u8]| special(plain(), FileKind::Symlink(target.into()));
    assert_eq!(link(b""), InvalidInode::SymlinkLength { length_bytes: 0 });
    assert_eq!(
        link(&[b'x'; 4096]),
        InvalidInode::SymlinkLength { length_bytes: 4096 }
    );
    assert_eq!(link(b"a\0b"), InvalidInode::SymlinkNul);
    let (major, minor) = (4096, 0);
    let device = FileKind::CharDevice(Device { major, minor });
    assert_eq!(
        special(plain(), device),
        InvalidInode::DeviceNumber { major, minor }
    );
    let nanoseconds = 1_000_000_000;
    let late = Metadata {
        mtime: Timestamp {
            seconds: 1,
            nanoseconds,
        },
        ..plain()
    };
    assert_eq!(
        special(late, FileKind::Fifo),
        InvalidInode::Nanoseconds { nanoseconds }
    );
}

#[test]
fn xattrs_that_have_no_place_on_disk() {
    let with = |pairs: &[(&str, &[u8])]| {
        let metadata = Metadata {
            xattrs: xattrs(pairs),
            ..Metadata::default()
        };
        special(metadata, FileKind::Fifo)
    };
    let long = vec![0; 65_536];
    let namespace = with(&[("btrfs.compression", b"zstd")]);
    assert_eq!(
        namespace.to_string(),
        "the extended attribute 'btrfs.compression' has a namespace that EROFS does not have"
    );
    assert!(matches!(
        with(&[("user.", b"")]),
        InvalidInode::XattrName { .. }
    ));
    assert!(matches!(
        with(&[("user.a", &long)]),
        InvalidInode::XattrValue {
            length_bytes: 65_536,
            ..
        }
    ));
    let most = &long[..65_535];
    let four = with(&[
        ("user.a", most),
        ("user.b", most),
        ("user.c", most),
        ("user.d", most),
    ]);
    assert!(matches!(four, InvalidInode::XattrTotal { .. }));
}

#[test]
fn a_directory_with_two_names() {
    let mut tree = Tree::new(Metadata::default());
    let (root, sub) = (tree.root(), tree.add(Inode::directory(Metadata::default())));
    tree.link(root, name("sub"), sub);
    tree.link(sub, name("up"), root);
    let writer = ImageWriter::new(Cursor::new(Vec::new()), Options::default()).unwrap();
    let error = writer.finish(&tree).unwrap_err();
    assert_eq!(error.to_string(), "cannot store '/'");
    assert_eq!(
        error.source().unwrap().to_string(),
        "a directory has a second name"
    );
}

#[test]
fn options_that_do_not_fit() {
    let refusal = |options| match ImageWriter::new(Cursor::new(Vec::new()), options) {
        Err(WriteError::Options(problem)) => problem,
        other => panic!("{other:?}"),
    };
    let long_name = Options {
        volume_name: "0123456789abcdef".into(),
        ..Options::default()
    };
    assert!(matches!(
        refusal(long_name),
        InvalidOptions::VolumeName { .. }
    ));
    let slot = |tag: String| DeviceSlot { tag, blocks: 1 };
    let long_tag = Options {
        devices: vec![slot("x".repeat(65))],
        ..Options::default()
    };
    assert!(matches!(
        refusal(long_tag),
        InvalidOptions::DeviceTag { .. }
    ));
    let many = Options {
        devices: vec![slot(String::new()); 65_536],
        ..Options::default()
    };
    assert_eq!(refusal(many), InvalidOptions::Devices { devices: 65_536 });
}

#[test]
fn content_that_ends_early() {
    let mut writer = ImageWriter::new(Cursor::new(Vec::new()), Options::default()).unwrap();
    assert_eq!(writer.append(&mut &b""[..], 0).unwrap(), None);
    let error = writer.append(&mut &b"abc"[..], 5).unwrap_err();
    let expected = "the content for block 1 ends after 3 of 5 bytes";
    assert_eq!(error.to_string(), expected);
}
