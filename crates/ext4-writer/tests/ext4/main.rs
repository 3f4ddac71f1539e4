//! Images compared with e2fsprogs and the kernel.

mod dumped;
mod examples;
mod forged;
mod hostile;
mod listing;
mod mounted;
mod oracle;
mod oracle_crash;
mod oracle_foreign;
mod outside;
mod pieces;
mod random;
mod sample;

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;

use ext4_writer::{InvalidInode, Options, WriteError, write};
use fstree::{Inode, Metadata, Tree};

use sample::{name, one_of_each};

fn image(tree: &Tree<Vec<u8>>, size_bytes: u64) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    write(tree, &options(size_bytes), file.as_file()).expect("written");
    file
}

fn options(size_bytes: u64) -> Options {
    Options {
        size_bytes,
        uuid: *b"0123456789abcdef",
        hash_seed: [7; 16],
        ..Options::default()
    }
}

#[test]
fn the_same_tree_gives_the_same_bytes() {
    let bytes = || std::fs::read(image(&one_of_each(), 64 << 20).path()).expect("readable");
    assert!(bytes() == bytes());
}

/// The writer omits unneeded blocks; the layout bounds the disk space that an image takes.
#[test]
fn images_are_sparse() {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let root = tree.root();
    let upper = tree.add(Inode::directory(Metadata::directory(0o755)));
    tree.link(root, name("upper"), upper);
    for (size_bytes, limit_bytes) in [(4 << 30, 300 << 10), (64 << 30, 1500 << 10)] {
        let file: &File = &image(&tree, size_bytes).reopen().expect("reopened");
        let allocated_bytes = file.metadata().expect("its size").blocks() * 512;
        assert!(
            allocated_bytes < limit_bytes,
            "{size_bytes}: {allocated_bytes}"
        );
        assert_eq!(file.metadata().expect("its size").len(), size_bytes);
    }
}

#[test]
fn what_ext4_cannot_store_is_refused_by_name() {
    let mut tree = one_of_each();
    let root = tree.root();
    let mut metadata = Metadata::directory(0o755);
    metadata.xattrs.insert(b"user.big", &[1; 5000]);
    let directory = tree.add(Inode::directory(metadata));
    tree.link(root, name("laden"), directory);
    let file = tempfile::tempfile().expect("a temporary file");
    let refused = write(&tree, &options(64 << 20), &file);
    let Err(WriteError::Inode { path, problem }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(path, b"laden");
    assert!(matches!(
        problem,
        InvalidInode::XattrsTooLarge {
            limit_bytes: 4064,
            ..
        }
    ));
}

#[test]
fn a_tree_that_does_not_fit_is_refused() {
    let mut tree = Tree::new(Metadata::directory(0o755));
    sample::add_file(&mut tree, "large", vec![0; 16 << 20]);
    let file = tempfile::tempfile().expect("a temporary file");
    let refused = write(&tree, &options(16 << 20), &file);
    assert!(
        matches!(refused, Err(WriteError::Full { what: "blocks", .. })),
        "{refused:?}"
    );
}
