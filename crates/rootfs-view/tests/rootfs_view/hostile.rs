//! Upper disks that no kernel writes.

use std::fs::File;
use std::path::Path;

use fstree::{FileKind, Inode, InodeId, Metadata, Tree, Xattrs};
use rootfs_view::{Content, ContentError, OpenError, View};

use crate::image::{name, write_disks};

fn directory(xattrs: &[(&str, &str)]) -> Inode<Vec<u8>> {
    let mut metadata = Metadata::directory(0o755);
    metadata.xattrs = xattrs.iter().copied().collect::<Xattrs>();
    Inode::directory(metadata)
}

fn open(fill: impl Fn(&mut Tree<Vec<u8>>, InodeId)) -> Result<View<File>, OpenError> {
    let disks = tempfile::tempdir().expect("a temporary directory");
    write_disks(disks.path());
    let mut tree = Tree::new(Metadata::directory(0o755));
    let upper = tree.add(directory(&[]));
    tree.link(tree.root(), name("upper"), upper);
    fill(&mut tree, upper);
    let options = ext4_writer::Options {
        size_bytes: 64 << 20,
        ..Default::default()
    };
    let file = tempfile::tempfile().expect("a temporary file");
    ext4_writer::write(&tree, &options, &file).expect("written");
    View::open(file, fsmeta(disks.path()), Vec::new())
}

fn fsmeta(disks: &Path) -> File {
    File::open(disks.join("fsmeta.erofs")).expect("there")
}

#[test]
fn a_lower_directory_is_shown_once() {
    let refused = open(|tree, upper| {
        for label in ["x", "y"] {
            let id = tree.add(directory(&[("trusted.overlay.redirect", "/a")]));
            tree.link(upper, name(label), id);
        }
    });
    assert!(matches!(refused, Err(OpenError::ShownTwice { .. })));
}

#[test]
fn redirects_to_nowhere_lead_to_nothing() {
    for target in ["/nowhere", "/a/f0/x", "//", "..", "/a/../b", "x/y", "/gone"] {
        let view = open(|tree, upper| {
            let id = tree.add(directory(&[("trusted.overlay.redirect", target)]));
            tree.link(upper, name("x"), id);
        });
        let view = view.unwrap_or_else(|error| panic!("{error:?}"));
        let id = view.resolve(b"x", true).expect("there");
        let names = view.tree().directory(id).expect("a directory");
        assert!(names.is_empty(), "{target}: {names:?}");
    }
}

#[test]
fn content_that_the_image_lacks_is_lost() {
    let view = open(|tree, upper| {
        let mut metadata = Metadata::with_mode(0o644);
        metadata.xattrs = Xattrs::from_iter([("trusted.overlay.metacopy", "")]);
        let kind = FileKind::Regular(vec![1; 100]);
        let id = tree.add(Inode { metadata, kind });
        tree.link(upper, name("nowhere"), id);
    });
    let view = view.unwrap_or_else(|error| panic!("{error:?}"));
    let id = view.resolve(b"nowhere", true).expect("there");
    let FileKind::Regular(content) = &view.tree().inode(id).kind else {
        panic!("a file")
    };
    assert!(matches!(content, Content::Lost { size_bytes: 100 }));
    let read = view.read_at(content, 0, &mut [0; 4]);
    assert!(matches!(read, Err(ContentError::Lost)));
}

#[test]
fn only_an_empty_directory_of_the_upper_disk_alone_is_left_out() {
    let mut view = open(|tree, upper| {
        let run = tree.add(directory(&[]));
        tree.link(upper, name("run"), run);
        let link = Inode {
            metadata: Metadata::with_mode(0o777),
            kind: FileKind::Symlink(b"run".as_slice().into()),
        };
        let link = tree.add(link);
        tree.link(upper, name("link"), link);
        for label in ["own", "other", "full"] {
            let id = tree.add(directory(&[]));
            tree.link(run, name(label), id);
        }
        let full = tree.find(b"upper/run/full").expect("there");
        let inside = tree.add(directory(&[]));
        tree.link(full, name("inside"), inside);
    })
    .expect("opened");
    assert!(view.leave_out_empty(b"/link", b"own"), "by a symlink");
    for (parent, label) in [
        ("/run", "own"),
        ("/run", "full"),
        ("/", "a"),
        ("/none", "x"),
    ] {
        let is_gone = view.leave_out_empty(parent.as_bytes(), label.as_bytes());
        assert!(!is_gone, "{parent} {label}");
    }
    let id = view.resolve(b"/run", true).expect("there");
    let names = view.tree().directory(id).expect("a directory");
    let names: Vec<_> = names.keys().map(|name| name.as_bytes().to_vec()).collect();
    assert_eq!(names, [b"full".to_vec(), b"other".to_vec()]);
}

#[test]
fn a_disk_without_an_upper_is_none() {
    let disks = tempfile::tempdir().expect("a temporary directory");
    write_disks(disks.path());
    let tree: Tree<Vec<u8>> = Tree::new(Metadata::directory(0o755));
    let options = ext4_writer::Options {
        size_bytes: 64 << 20,
        ..Default::default()
    };
    let file = tempfile::tempfile().expect("a temporary file");
    ext4_writer::write(&tree, &options, &file).expect("written");
    let refused = View::open(file, fsmeta(disks.path()), Vec::new());
    assert!(matches!(refused, Err(OpenError::NoUpper)));
}

#[test]
fn an_index_of_unknown_handles_is_refused() {
    let refused = open(|tree, _| {
        let root = tree.root();
        let work = tree.add(directory(&[]));
        tree.link(root, name("work"), work);
        let index = tree.add(directory(&[]));
        tree.link(work, name("index"), index);
        let file = tree.add(Inode {
            metadata: Metadata::with_mode(0o644),
            kind: FileKind::Regular(Vec::new()),
        });
        tree.link(index, name("00fb"), file);
    });
    assert!(matches!(refused, Err(OpenError::Handle { .. })));
}
