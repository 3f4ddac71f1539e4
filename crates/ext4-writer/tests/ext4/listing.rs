//! Content that this crate's reader finds in an image, as text.

use std::path::Path;

use ext4_writer::{FileData, Image, ReadAt};
use fstree::Tree;
use testkit::{Content, TreeDump};

/// Opens an image that must be readable.
pub(crate) fn open(path: &Path) -> Image<std::fs::File> {
    let file = std::fs::File::open(path).expect("the image is there");
    Image::open(file).unwrap_or_else(|error| panic!("{error:?}"))
}

/// Returns the tree in an image, without the `lost+found` that mke2fs makes.
pub(crate) fn read(image: &Image<impl ReadAt>) -> Tree<FileData> {
    let mut tree = image
        .read_tree()
        .unwrap_or_else(|error| panic!("{error:?}"));
    tree.unlink(tree.root(), b"lost+found");
    tree
}

pub(crate) fn dump(image: &Image<impl ReadAt>) -> TreeDump {
    TreeDump::from_tree(&read(image), |data| Content::read(image.file_reader(data)))
        .unwrap_or_else(|error| panic!("{error:?}"))
}
