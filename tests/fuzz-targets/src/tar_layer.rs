//! A layer's blob, compressed or not, is refused, or its tree comes back unchanged from an EROFS
//! image.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{Cursor, Read};

use erofs_writer::{Image, ImageWriter, Options};
use fstree::{FileData, FileKind, Tree};
use oci_layers::{Limit, Limits, merge, read_layer};

/// Largest layer, in bytes. It is small, so that a run tries many layers.
const LAYER_BYTES: u64 = 8 << 20;

/// Asserts that two trees have the same names, attributes and content, and that the same names
/// share a file. The numbers of files may differ.
fn assert_same(one: &Tree<FileData>, other: &Tree<FileData>) {
    let mut numbers = HashMap::new();
    let (mut ours, mut theirs) = (one.walk(), other.walk());
    loop {
        let (one, other) = match (ours.next(), theirs.next()) {
            (None, None) => return,
            (Some(one), Some(other)) => (one, other),
            _ => panic!("a name is lost or new"),
        };
        assert_eq!(one.path, other.path);
        assert_eq!(one.inode.metadata, other.inode.metadata, "{:?}", one.path);
        assert_eq!(
            *numbers.entry(one.id).or_insert(other.id),
            other.id,
            "{:?}",
            one.path
        );
        match (&one.inode.kind, &other.inode.kind) {
            (FileKind::Directory(_), FileKind::Directory(_)) => {}
            (one, other) => assert_eq!(one, other),
        }
    }
}

/// Imports `bytes` as a layer.
///
/// # Panics
/// If the image of an accepted layer is not whole, or has another tree.
pub fn run(bytes: &[u8]) {
    let Ok(tar) = image_import::fuzzing::decompressed(bytes) else {
        return;
    };
    let limits = Limits::default()
        .with(Limit::LayerMetadata, 4 << 20)
        .with(Limit::LayerEntries, 10_000);
    let mut writer = ImageWriter::new(Cursor::new(Vec::new()), Options::default())
        .expect("the options are valid");
    let read = read_layer(tar.take(LAYER_BYTES), &limits, &mut writer);
    let Ok(layer) = read else { return };
    let Ok((out, _)) = writer.finish(&layer.tree) else {
        // An image cannot store this tree: a file is too large, or an xattr too long.
        return;
    };
    let image = Image::open(out.into_inner()).expect("what was written opens");
    image.verify().expect("what was written is whole");
    let back = image.read_tree().expect("what was written is read");
    assert_same(&layer.tree, &back);
    let again = Ok::<_, Infallible>(layer.tree.clone());
    let _ = merge([Ok(layer.tree), again], &limits);
}
