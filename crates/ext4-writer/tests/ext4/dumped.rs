//! Golden dumps that a person has checked, and a proof that dumps omit nothing.

use std::fs;

use ext4_writer::Image;
use fstree::{FileKind, Inode, Metadata, Tree};

use crate::image;
use crate::sample::{CAPABILITY, add_file, name};

fn dump(image: &[u8]) -> Option<String> {
    let mut text = String::new();
    Image::open(image).ok()?.dump(&mut text).ok()?;
    Some(text)
}

fn dump_of(tree: &Tree<Vec<u8>>, size_bytes: u64) -> String {
    let file = image(tree, size_bytes);
    dump(&fs::read(file.path()).expect("readable")).expect("dumped")
}

/// Returns the first tree of a sandbox's upper disk: `upper` and `work`.
fn fresh_upper() -> Tree<Vec<u8>> {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let root = tree.root();
    for (path, mode) in [("upper", 0o755), ("work", 0o700)] {
        let id = tree.add(Inode::directory(Metadata::directory(mode)));
        tree.link(root, name(path), id);
    }
    tree
}

#[test]
fn a_fresh_upper() {
    insta::assert_snapshot!(dump_of(&fresh_upper(), 16 << 20));
}

/// The image has a copy of the superblock, a second group and an empty group.
#[test]
fn three_groups() {
    insta::assert_snapshot!(dump_of(&fresh_upper(), 300 << 20));
}

#[test]
fn xattrs_and_symlinks() {
    let mut metadata = Metadata::directory(0o755);
    metadata.xattrs.insert(b"security.capability", &CAPABILITY);
    let mut tree = Tree::new(metadata);
    let root = tree.root();
    let mut long = Metadata::with_mode(0o600);
    long.xattrs.insert(b"user.long", &[b'v'; 100]);
    let kind = FileKind::Regular(b"content".to_vec());
    let id = tree.add(Inode {
        metadata: long,
        kind,
    });
    tree.link(root, name("long"), id);
    for length in [5, 70] {
        let id = tree.add(Inode {
            metadata: Metadata::with_mode(0o777),
            kind: FileKind::Symlink(vec![b't'; length].into()),
        });
        tree.link(root, name(&format!("to-{length}")), id);
    }
    insta::assert_snapshot!(dump_of(&tree, 16 << 20));
}

#[test]
fn every_byte_is_in_the_dump() {
    let mut tree = fresh_upper();
    add_file(&mut tree, "file", vec![b'f'; 5000]);
    let file = image(&tree, 16 << 20);
    let mut bytes = fs::read(file.path()).expect("readable");
    let original = dump(&bytes).expect("dumped");
    let used: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] != 0).collect();
    assert!(used.len() > 5000);
    for at in used.into_iter().step_by(53) {
        bytes[at] ^= 0x55;
        assert_ne!(dump(&bytes).as_ref(), Some(&original), "byte {at}");
        bytes[at] ^= 0x55;
    }
}
