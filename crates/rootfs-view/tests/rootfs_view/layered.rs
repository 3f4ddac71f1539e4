//! A tree that is written as an upper directory shows unchanged, in a view and in the kernel.

use std::convert::Infallible;
use std::fs::File;
use std::path::Path;

use fstree::{FileData, FileKind, Inode, InodeId, Metadata, Tree};
use rootfs_view::View;
use testkit::TreeDump;

use crate::image::{name, write_disks};
use crate::{assert_same, mount_disks};

type Wanted = Tree<Vec<u8>>;

/// `u::rw-,u:1000:r--,g::r--,m::r--,o::---` (`struct posix_acl_xattr_entry`).
const ACCESS_LIST: &[u8] = b"\x02\0\0\0\x01\0\x06\0\xff\xff\xff\xff\x02\0\x04\0\xe8\x03\0\0\
    \x04\0\x04\0\xff\xff\xff\xff\x10\0\x04\0\xff\xff\xff\xff\x20\0\0\0\xff\xff\xff\xff";

fn change(tree: &mut Wanted) {
    let root = tree.root();
    let add = |tree: &mut Wanted, parent: InodeId, label: &str, kind: FileKind<Vec<u8>>| {
        let mut metadata = Metadata::with_mode(0o640);
        metadata.uid = 7;
        metadata.mtime.seconds = 1_700_000_000;
        let id = tree.add(Inode { metadata, kind });
        tree.link(parent, name(label), id);
        id
    };
    let a = tree.find(b"a").expect("there");
    // Removed names: a file, a directory, one name of several.
    tree.unlink(a, b"f0");
    tree.unlink(root, b"c");
    tree.unlink(a, b"s1");
    // New names: some replace old ones, one file is deep in the tree and has several.
    let deep = tree.find(b"a/d/d").expect("there");
    let new = add(tree, deep, "new", FileKind::Regular(b"deep".to_vec()));
    let xattrs = &mut tree.inode_mut(new).metadata.xattrs;
    xattrs.insert(b"system.posix_acl_access", ACCESS_LIST);
    tree.link(deep, name("again"), new);
    add(tree, a, "g0", FileKind::Regular(b"another".to_vec()));
    add(tree, a, "to", FileKind::Symlink(b"../b".as_slice().into()));
    // New directories: one replaces a directory of the image, one a file.
    let b = add(tree, root, "b", FileKind::Directory(Default::default()));
    add(tree, b, "only", FileKind::Regular(Vec::new()));
    let h0 = add(tree, a, "h0", FileKind::Directory(Default::default()));
    add(tree, h0, "below", FileKind::Fifo);
    // A directory of the image gets other attributes.
    let d = tree.find(b"a/d").expect("there");
    tree.inode_mut(d).metadata.mode = 0o1777;
}

fn write_upper(disks: &Path, wanted: &Wanted, image: &Tree<FileData>) {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let upper = rootfs_view::layer(image, wanted, Clone::clone, &mut tree);
    let work = tree.add(Inode::directory(Metadata::directory(0o700)));
    for (label, id) in [("upper", upper), ("work", work)] {
        tree.link(tree.root(), name(label), id);
    }
    let options = ext4_writer::Options {
        size_bytes: 64 << 20,
        uuid: *b"an upper's UUID.",
        ..Default::default()
    };
    let path = disks.join("upper.ext4");
    std::fs::remove_file(&path).expect("removed");
    let file = File::create_new(&path).expect("created");
    ext4_writer::write(&tree, &options, &file).expect("written");
}

#[test]
fn oracle_a_layer_shows_what_was_wanted() {
    let disks = tempfile::tempdir().expect("a temporary directory");
    write_disks(disks.path());
    let fsmeta = File::open(disks.path().join("fsmeta.erofs")).expect("there");
    let image = erofs_writer::Image::open(fsmeta).expect("an image");
    let below = image.read_tree().expect("readable");
    let Ok(mut wanted) = below.clone().try_map(|data| {
        let mut bytes = Vec::new();
        let mut reader = image.file_reader(&data, &[]);
        std::io::Read::read_to_end(&mut reader, &mut bytes).expect("readable");
        Ok::<_, Infallible>(bytes)
    });
    change(&mut wanted);
    write_upper(disks.path(), &wanted, &below);
    // A whiteout in the image shows nowhere.
    wanted.unlink(wanted.root(), b"gone");
    let expected = TreeDump::from_tree(&wanted, |bytes| testkit::Content::read(&bytes[..]));
    let expected = expected.expect("readable");
    let view: View<File> = crate::view(disks.path());
    assert_same(&expected, &view, "the view");
    let mounts = mount_disks(disks.path());
    let shown = TreeDump::from_directory(&mounts.root()).expect("readable");
    assert_same(&shown, &view, "the kernel");
}
