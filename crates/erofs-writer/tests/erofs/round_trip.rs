//! Trees that are written and read again.

use std::io::Read;

use erofs_writer::{BLOCK_SIZE_BYTES, ReadAt};
use fstree::{FileKind, Tree};

use crate::listing::assert_same;
use crate::model::{Built, Content};
use crate::samples;

/// Writes a tree twice, reads it, and compares metadata and content.
pub(crate) fn check(tree: Tree<Content>, devices: u16) -> Built {
    let built = Built::write(tree.clone(), devices);
    let again = Built::write(tree.clone(), devices);
    assert!(
        built.image == again.image,
        "the same tree gives the same bytes"
    );
    let blocks = u64::from(built.summary.blocks);
    assert_eq!(built.image.size_bytes().unwrap(), blocks * BLOCK_SIZE_BYTES);

    let image = built.open();
    let read = image.read_tree().unwrap();
    assert_same(&read, &built.tree);
    check_content(&built, &tree, &read);
    let report = image.verify().unwrap();
    assert_eq!(report.inodes, built.summary.inodes);
    built
}

fn check_content(built: &Built, expected: &Tree<Content>, read: &Tree<erofs_writer::FileData>) {
    let image = built.open();
    let flat = built.flat();
    let flat_image = erofs_writer::Image::open(flat.as_slice()).unwrap();
    let devices: Vec<&dyn ReadAt> = built.devices.iter().map(|device| device as _).collect();
    for entry in expected.walk() {
        let FileKind::Regular(content) = &entry.inode.kind else {
            continue;
        };
        let id = read.find(&entry.path).unwrap();
        let FileKind::Regular(data) = &read.inode(id).kind else {
            panic!("a regular file stays one");
        };
        let mut copied = Vec::new();
        image.copy_file(data, &devices, &mut copied).unwrap();
        assert!(copied == content.bytes(), "{}", entry.path.escape_ascii());
        let mut streamed = Vec::new();
        flat_image
            .file_reader(data, &[])
            .read_to_end(&mut streamed)
            .unwrap();
        assert!(copied == streamed, "{}", entry.path.escape_ascii());
    }
}

#[test]
fn one_of_each() {
    check(samples::one_of_each(), 0);
}

#[test]
fn extremes() {
    check(samples::extremes(), 0);
}

#[test]
fn on_devices() {
    check(samples::on_devices(), 3);
}

#[test]
fn a_table_that_spills_out_of_the_first_block() {
    check(samples::on_devices(), 30);
}
