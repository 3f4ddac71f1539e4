//! The marks of a layer's own tree about the layers below, none of which is left in an image.

use std::convert::Infallible;
use std::io::Cursor;

use erofs_writer::{FileData, Image, ImageWriter, Options};
use fstree::{FileKind, Tree};
use oci_layers::{Limits, markers, merge, read_layer};
use testkit::{Content, TarBuilder, TarEntry, TreeDump};

use crate::fixture::read_entries;

const MARKERS: [&[u8]; 4] = [
    markers::WHITEOUT,
    markers::OPAQUE,
    markers::IMPLIED,
    markers::HARDLINK,
];

fn markers_at<D>(tree: &Tree<D>, path: &str) -> Vec<(&'static [u8], Vec<u8>)> {
    let id = tree.find(path.as_bytes()).expect("the name is there");
    let xattrs = &tree.inode(id).metadata.xattrs;
    let marker = |name| xattrs.get(name).map(|value| (name, value.to_vec()));
    MARKERS.into_iter().filter_map(marker).collect()
}

fn entries() -> Vec<TarEntry> {
    vec![
        TarEntry::file(".wh.gone", ""),
        TarEntry::file("implied/.wh..wh..opq", ""),
        TarEntry::directory("again"),
        TarEntry::file(".wh.again", ""),
        TarEntry::file(".wh.file", ""),
        TarEntry::file("file", ""),
        TarEntry::symlink("s", "implied"),
        TarEntry::hardlink("link", "s/lower"),
        TarEntry::char_device("literal", 0, 0).xattr("trusted.msb.whiteout", "y"),
    ]
}

#[test]
fn a_layer_has_its_markers() {
    let tree = read_entries(entries()).tree;
    let yes = || b"y".to_vec();
    assert_eq!(markers_at(&tree, "gone"), [(markers::WHITEOUT, yes())]);
    let implied = [(markers::OPAQUE, yes()), (markers::IMPLIED, yes())];
    assert_eq!(markers_at(&tree, "implied"), implied);
    assert_eq!(markers_at(&tree, "again"), [(markers::OPAQUE, yes())]);
    let lower = b"implied/lower".to_vec();
    assert_eq!(markers_at(&tree, "link"), [(markers::HARDLINK, lower)]);
    assert_eq!(markers_at(&tree, ""), [(markers::IMPLIED, yes())]);
    for path in ["file", "literal"] {
        assert_eq!(markers_at(&tree, path), [], "{path}");
    }
}

#[test]
fn an_image_has_none_and_keeps_a_literal_device() {
    let base = read_entries([TarEntry::file("implied/lower", "")]).tree;
    let layers = [base, read_entries(entries()).tree].map(Ok::<_, Infallible>);
    let tree = merge(layers, &Limits::default()).expect("valid").tree;
    for entry in tree.walk() {
        let path = String::from_utf8(entry.path).expect("names are text");
        assert_eq!(markers_at(&tree, &path), [], "{path}");
    }
    let literal = tree.find(b"literal").expect("it is there");
    assert!(matches!(tree.inode(literal).kind, FileKind::CharDevice(_)));
    assert_eq!(tree.find(b"gone"), None);
}

#[test]
fn an_erofs_image_brings_a_layer_back_as_it_was() {
    let writer = ImageWriter::new(Cursor::new(Vec::new()), Options::default());
    let mut writer = writer.expect("memory does not fail");
    let tar = TarBuilder::archive(entries());
    let tree = read_layer(&tar[..], &Limits::default(), &mut writer)
        .expect("valid")
        .tree;
    let (out, _) = writer.finish(&tree).expect("it fits");
    let image = Image::open(out.into_inner()).expect("an image");
    image.verify().expect("sound");
    let back = image.read_tree().expect("readable");
    let dump = |tree: &Tree<FileData>| {
        TreeDump::from_tree(tree, |data| Content::read(format!("{data:?}").as_bytes()))
            .expect("memory does not fail")
    };
    assert_eq!(dump(&back).to_string(), dump(&tree).to_string());
    assert_eq!(markers_at(&back, "implied"), markers_at(&tree, "implied"));
}
