//! The cases that are a change, and those that are not.

use std::cell::Cell;
use std::convert::Infallible;

use fstree::{Device, FileKind, Inode, InodeId, Metadata, Segment, Tree, Xattrs};
use tree_diff::{Relation, Scope, Side, Unrelated, compare};

use crate::trees::{Files, changes, find, lines, name, set, tree};

#[test]
fn equal_trees_have_no_changes_whatever_their_inode_numbers() {
    let one = tree(&[("a/b", "1"), ("c", "->a")]);
    let other = tree(&[("c", "->a"), ("a/b", "1")]);
    assert!(lines(&one, &other).is_empty());
}

#[test]
fn names_are_added_changed_and_deleted() {
    let old = tree(&[
        ("a", "1"),
        ("d/e/f", "1"),
        ("d/g", "1"),
        ("l", "->a"),
        ("same", "1"),
    ]);
    let new = tree(&[
        ("a", "2"),
        ("d/g", "1"),
        ("l", "->b"),
        ("n/m", ""),
        ("same", "1"),
    ]);
    let expected = [
        "C /a content",
        "D /d/e",
        "D /d/e/f (implied)",
        "C /l target",
        "A /n",
        "A /n/m",
    ];
    assert_eq!(lines(&old, &new), expected);
}

#[test]
fn a_directory_and_a_file_replace_each_other() {
    let old = tree(&[("a/b/c", "1"), ("f", "1")]);
    let new = tree(&[("a", "1"), ("f/g", "1")]);
    let expected = [
        "C /a type,mode",
        "D /a/b (implied)",
        "D /a/b/c (implied)",
        "C /f type,mode",
        "A /f/g",
    ];
    assert_eq!(lines(&old, &new), expected);
}

#[test]
fn every_property_counts() {
    let old = tree(&[("d/", ""), ("f", "1")]);
    let mut new = old.clone();
    for path in ["d", "f"] {
        let id = find(&new, path);
        let metadata = &mut new.inode_mut(id).metadata;
        metadata.mode = 0o4700;
        metadata.gid = 5;
        metadata.mtime.nanoseconds = 1;
        metadata.xattrs = Xattrs::from_iter([("user.a", "1")]);
    }
    let id = new.tree_root_mode(0o700);
    assert_eq!(id, new.root());
    let expected = [
        "C / mode",
        "C /d mode,owner,mtime,xattrs",
        "C /f mode,owner,mtime,xattrs",
    ];
    assert_eq!(lines(&old, &new), expected);
}

trait RootMode {
    fn tree_root_mode(&mut self, mode: u16) -> InodeId;
}

impl RootMode for Files {
    fn tree_root_mode(&mut self, mode: u16) -> InodeId {
        let root = self.root();
        self.inode_mut(root).metadata.mode = mode;
        root
    }
}

#[test]
fn device_numbers_count() {
    let device = |minor| {
        let mut tree: Files = Tree::new(Metadata::directory(0o755));
        let id = tree.add(Inode {
            metadata: Metadata::with_mode(0o600),
            kind: FileKind::BlockDevice(Device { major: 8, minor }),
        });
        tree.link(tree.root(), name("sda"), id);
        tree
    };
    assert!(lines(&device(0), &device(0)).is_empty());
    assert_eq!(lines(&device(0), &device(1)), ["C /sda device"]);
}

#[test]
fn groups_of_hard_links_are_compared_by_their_names() {
    let mut old = tree(&[("a", "1"), ("z", "1"), ("s", "1")]);
    let (root, a) = (old.root(), find(&old, "a"));
    old.link(root, name("b"), a);
    // Another inode number for the same group is no change.
    assert!(lines(&old, &old.clone()).is_empty());

    // A new name of a file.
    let mut new = old.clone();
    new.link(root, name("0"), find(&old, "z"));
    assert_eq!(lines(&old, &new), ["A /0 = /z"]);

    // A name leaves its group without a change of its content.
    let mut new = old.clone();
    let copy = new.inode(a).clone();
    let copy = new.add(copy);
    new.link(root, name("b"), copy);
    assert_eq!(lines(&old, &new), ["C /b links"]);

    // Two equal files become one.
    let mut new = old.clone();
    new.link(root, name("z"), find(&old, "s"));
    assert_eq!(lines(&old, &new), ["C /z links = /s"]);

    // All names of a changed file are changed.
    let mut new = old.clone();
    set(&mut new, "a", "2");
    assert_eq!(lines(&old, &new), ["C /a content", "C /b content = /a"]);
}

#[test]
fn a_scope_leaves_everything_else_out() {
    let old = tree(&[("a/b/c", "1"), ("a/d", "1"), ("e", "1")]);
    let mut new = tree(&[("a/b/c", "2"), ("a/d", "2"), ("e", "2"), ("a/b/n", "")]);
    new.tree_root_mode(0o700);
    let scope = Scope::of_paths(["/a/b", "e"]).expect("paths");
    let found: Vec<String> = changes(&old, &new, &scope)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(found, ["C /a/b/c", "A /a/b/n", "C /e"]);
}

/// Files of zeros with some bytes, which count how much of them is read.
struct Sparse {
    tree: Tree<(u64, u8)>,
    read_bytes: Cell<usize>,
}

const SIZE_BYTES: u64 = 1 << 50;

impl Sparse {
    fn new(offset_bytes: u64, byte: u8) -> Self {
        let mut tree = Tree::new(Metadata::directory(0o755));
        let id = tree.add(Inode {
            metadata: Metadata::with_mode(0o644),
            kind: FileKind::Regular((offset_bytes, byte)),
        });
        tree.link(tree.root(), name("f"), id);
        Self {
            tree,
            read_bytes: Cell::new(0),
        }
    }
}

impl Side for Sparse {
    type Content = (u64, u8);
    type Error = Infallible;

    fn tree(&self) -> &Tree<(u64, u8)> {
        &self.tree
    }

    fn size_bytes(&self, _: &(u64, u8)) -> u64 {
        SIZE_BYTES
    }

    fn segments(&self, content: &(u64, u8)) -> Vec<Segment> {
        vec![Segment {
            offset_bytes: content.0,
            length_bytes: 1,
        }]
    }

    fn read_at(
        &self,
        &(offset_bytes, byte): &(u64, u8),
        from_bytes: u64,
        buffer: &mut [u8],
    ) -> Result<(), Infallible> {
        self.read_bytes.set(self.read_bytes.get() + buffer.len());
        for (at, place) in (from_bytes..).zip(buffer) {
            *place = if at == offset_bytes { byte } else { 0 };
        }
        Ok(())
    }
}

#[test]
fn holes_are_zeros_and_are_not_read() {
    let is_changed = |one: &Sparse, other: &Sparse| {
        let found = compare(one, other, &Unrelated, &Scope::everything());
        !found.expect("compared").is_empty()
    };
    let one = Sparse::new(1 << 40, 7);
    assert!(!is_changed(&one, &Sparse::new(1 << 40, 7)));
    assert!(is_changed(&one, &Sparse::new(1 << 40, 8)));
    assert!(is_changed(&one, &Sparse::new(1 << 41, 7)));
    // A zero that is stored is equal to a hole.
    assert!(!is_changed(
        &Sparse::new(0, 0),
        &Sparse::new(SIZE_BYTES - 1, 0)
    ));
    assert!(one.read_bytes.get() < 10);
}

/// Says that all contents are equal.
struct SameContent;

impl Relation<(u64, u8), (u64, u8)> for SameContent {
    fn is_same_content(&self, _: &(u64, u8), _: &(u64, u8)) -> bool {
        true
    }
}

#[test]
fn content_that_is_known_to_be_equal_is_not_read() {
    let one = Sparse::new(0, 1);
    let found = compare(&one, &Sparse::new(0, 2), &SameContent, &Scope::everything());
    assert!(found.expect("compared").is_empty());
    assert_eq!(one.read_bytes.get(), 0);
}
