//! Dumps that a person has read, and a proof that they leave nothing out.

use erofs_writer::Image;
use fstree::{FileKind, Metadata, Tree};

use crate::model::{Built, Content};
use crate::samples::{self, put};

fn dump(image: &[u8]) -> Option<String> {
    let mut text = String::new();
    Image::open(image).ok()?.dump(&mut text).ok()?;
    Some(text)
}

#[test]
fn nothing_but_a_root() {
    let tree = Tree::new(Metadata::directory(0o755));
    let built = Built::write(tree, 0);
    insta::assert_snapshot!(dump(&built.image).unwrap());
}

#[test]
fn one_of_each() {
    let built = Built::write(samples::one_of_each(), 0);
    insta::assert_snapshot!(dump(&built.image).unwrap());
}

#[test]
fn metadata_over_two_devices() {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let root = tree.root();
    for device in [1, 2] {
        let kind = FileKind::Regular(Content::whole(9000, device, 1));
        let name = format!("on-{device}");
        put(&mut tree, root, name, Metadata::with_mode(0o600), kind);
    }
    let built = Built::write(tree, 2);
    insta::assert_snapshot!(dump(&built.image).unwrap());
}

#[test]
fn every_byte_is_in_the_dump() {
    let built = Built::write(samples::one_of_each(), 0);
    let original = dump(&built.image).unwrap();
    for offset in (0..built.image.len()).filter(|offset| offset % 4096 < 1400) {
        let mut changed = built.image.clone();
        changed[offset] ^= 0x55;
        let text = dump(&changed);
        assert_ne!(text.as_ref(), Some(&original), "byte {offset}");
    }
}
