//! Layers, applied by `oci-layers`: they make the new tree of the old one.

use fstree::{FileKind, Inode, InodeId, Metadata, Timestamp, Tree, Xattrs};
use proptest::collection::vec;
use proptest::prelude::*;
use tree_diff::{
    InMemory, LayerError, LayerNote, LayerNoteReason, LayerOptions, LayerPlan, Relation, Side,
};

use crate::layered::{assert_layered, base, dump, entries, image, layer};
use crate::random::{act, action};
use crate::trees::{Files, find, name, set, tree};

#[test]
fn a_layer_has_the_changes_and_the_directories_above_them() {
    let old = tree(&[
        ("a/b/c", "1"),
        ("a/d", "2"),
        ("e/f", "3"),
        ("g", "4"),
        ("h/i/j", "5"),
    ]);
    let mut new = old.clone();
    set(&mut new, "a/b/c", "one");
    new.unlink(find(&old, "e"), b"f");
    new.unlink(new.root(), b"h");
    let tar = assert_layered(&old, &new);
    assert_eq!(
        entries(&tar),
        ["./", ".wh.h", "a/", "a/b/", "a/b/c", "e/", "e/.wh.f"]
    );
    assert!(
        entries(
            &layer(&new, &new, LayerOptions::default())
                .expect("empty")
                .out
        )
        .is_empty()
    );
}

#[test]
fn a_changed_file_is_written_with_all_its_names() {
    let mut old = tree(&[("a", "1"), ("d/b", "")]);
    let file = find(&old, "a");
    let directory = find(&old, "d");
    old.link(directory, name("b"), file);
    let mut new = old.clone();
    new.link(new.root(), name("c"), file);
    let tar = assert_layered(&old, &new);
    assert_eq!(entries(&tar), ["./", "a", "c -> a", "d/", "d/b -> a"]);
    set(&mut new, "d/b", "2");
    assert_layered(&old, &new);
    // A name that leaves its group takes nothing with it.
    let mut new = old.clone();
    let alone = new.add(old.inode(file).clone());
    new.link(directory, name("b"), alone);
    assert_eq!(entries(&assert_layered(&old, &new)), ["./", "d/", "d/b"]);
}

#[test]
fn kinds_replace_each_other() {
    let old = tree(&[("a/b", "1"), ("c", "2"), ("d", "->c"), ("e/f/g", "3")]);
    let mut new = old.clone();
    let root = new.root();
    for (label, kind) in [
        ("a", FileKind::Regular(b"file".to_vec())),
        ("c", FileKind::Directory(Default::default())),
        ("d", FileKind::Fifo),
        ("e", FileKind::Symlink(b"a".as_slice().into())),
    ] {
        let metadata = Metadata::with_mode(0o600);
        let id = new.add(Inode { metadata, kind });
        new.link(root, name(label), id);
    }
    assert_layered(&old, &new);
    assert_layered(&new, &old);
}

/// A relation that knows of replaced directories.
struct Replaced(InodeId);

impl<O, N> Relation<O, N> for Replaced {
    fn is_replaced(&self, _: InodeId, new: InodeId) -> bool {
        self.0 == new
    }
}

#[test]
fn a_directory_is_opaque_only_if_it_was_replaced() {
    let old = tree(&[("d/a", "1"), ("d/b/c", "2"), ("d/x", "3")]);
    let written = |files: &[(&str, &str)], is_replaced: bool| {
        let new = tree(files);
        let id = if is_replaced {
            find(&new, "d")
        } else {
            new.root()
        };
        let (old, side) = (InMemory(old.clone()), InMemory(new.clone()));
        let options = LayerOptions::default();
        let writer = LayerPlan::new(&old, &side, &Replaced(id), options).expect("compared");
        let tar = writer.write(&side, Vec::new()).expect("written").out;
        let below = base(&old.0).expect("a layer").out;
        assert_eq!(image(&[&below, &tar]), dump(&new));
        entries(&tar)
    };
    let new = [("d/y", "4")];
    assert_eq!(written(&new, true), ["./", "d/", "d/.wh..wh..opq", "d/y"]);
    assert_eq!(
        written(&new, false),
        ["./", "d/", "d/.wh.a", "d/.wh.b", "d/.wh.x", "d/y"]
    );
    // An equal name shows through.
    let shared = [("d/x", "3"), ("d/y", "4")];
    assert_eq!(
        written(&shared, true),
        ["./", "d/", "d/.wh.a", "d/.wh.b", "d/y"]
    );
}

#[test]
fn sockets_and_attributes_of_the_system_are_left_out_and_noted() {
    let old = tree(&[("s", "a file"), ("f", "1")]);
    let mut new = old.clone();
    let socket = new.add(Inode {
        metadata: Metadata::with_mode(0o600),
        kind: FileKind::Socket,
    });
    new.link(new.root(), name("s"), socket);
    let xattrs = [
        ("trusted.overlay.opaque", "y"),
        ("user.a", "1"),
        ("user.b=c", "2"),
        ("user.overlay.redirect", "/"),
        ("system.posix_acl_access", "no kernel sets this value"),
        ("security.capability", "\u{1}\0\0\u{2}0123456789abcdef"),
    ];
    let file = find(&new, "f");
    new.inode_mut(file).metadata.xattrs = Xattrs::from_iter(xattrs);
    let written = layer(&old, &new, LayerOptions::default()).expect("a layer");
    assert_eq!(entries(&written.out), ["./", ".wh.s", "f"]);
    let notes: Vec<String> = written.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "the socket /s is left out",
            "the xattr system.posix_acl_access of /f is left out",
            "the xattr trusted.overlay.opaque of /f is left out",
            "the xattr user.b=c of /f is left out",
            "the xattr user.overlay.redirect of /f is left out",
        ]
    );
    assert_eq!(written.notes[0].reason, LayerNoteReason::Socket);
    let kept = [xattrs[1], xattrs[5]];
    new.inode_mut(file).metadata.xattrs = Xattrs::from_iter(kept);
    assert_layered(&old, &new);
}

#[test]
fn attributes_that_layers_lack_are_no_change_by_themselves() {
    let old = tree(&[("d/f", "1"), ("g", "1")]);
    let mut new = old.clone();
    for path in ["d", "d/f"] {
        let id = find(&new, path);
        new.inode_mut(id).metadata.xattrs = Xattrs::from_iter([("trusted.x", "1")]);
    }
    let written = layer(&old, &new, LayerOptions::default()).expect("a layer");
    assert_eq!(entries(&written.out), [""; 0]);
    let notes =
        |notes: &[LayerNote]| -> Vec<String> { notes.iter().map(ToString::to_string).collect() };
    let left_out = [
        "the xattr trusted.x of /d is left out",
        "the xattr trusted.x of /d/f is left out",
    ];
    assert_eq!(notes(&written.notes), left_out);
    // With another change each is still noted once.
    let file = find(&new, "d/f");
    new.inode_mut(file).metadata.mode = 0o600;
    let written = layer(&old, &new, LayerOptions::default()).expect("a layer");
    assert_eq!(entries(&written.out), ["./", "d/", "d/f"]);
    assert_eq!(notes(&written.notes), left_out);
}

#[test]
fn a_name_that_would_remove_another_is_refused() {
    let old = tree(&[("d/a", "1")]);
    for path in ["d/.wh.a", "d/.wh..wh..opq", ".wh.d/x"] {
        let new = tree(&[("d/a", "1"), (path, "2")]);
        let error = layer(&old, &new, LayerOptions::default()).expect_err(path);
        assert!(matches!(error, LayerError::ReservedName { .. }), "{error}");
        assert!(error.to_string().contains(".wh."), "{error}");
    }
}

#[test]
fn a_path_that_readers_refuse_is_refused() {
    let long = vec!["d".repeat(200); 90].join("/");
    let new = tree(&[(&long, "1")]);
    let error = base(&new).expect_err("it is too long");
    assert!(matches!(error, LayerError::LongPath { .. }), "{error}");
}

#[test]
fn times_after_the_latest_one_are_replaced() {
    let at = |seconds| Timestamp {
        seconds,
        nanoseconds: 5,
    };
    let latest = Timestamp {
        seconds: 100,
        nanoseconds: 0,
    };
    let options = LayerOptions {
        latest_mtime: Some(latest),
    };
    let old = tree(&[("a", "1"), ("b", "2"), ("c", "3")]);
    let mut new = old.clone();
    for (path, seconds) in [("a", 99), ("b", 101)] {
        let id = find(&new, path);
        new.inode_mut(id).metadata.mtime = at(seconds);
    }
    let tar = layer(&old, &new, options).expect("a layer").out;
    let mut expected = new.clone();
    let id = find(&new, "b");
    expected.inode_mut(id).metadata.mtime = latest;
    assert_eq!(
        image(&[&base(&old).expect("a layer").out, &tar]),
        dump(&expected)
    );
    // The next layer has nothing to add.
    let next = layer(&expected, &new, options).expect("a layer").out;
    assert!(entries(&next).is_empty());
}

/// Content with large holes.
struct Sparse {
    tree: Tree<u64>,
    data: Vec<fstree::Segment>,
}

impl Side for Sparse {
    type Content = u64;
    type Error = std::io::Error;

    fn tree(&self) -> &Tree<u64> {
        &self.tree
    }

    fn size_bytes(&self, size_bytes: &u64) -> u64 {
        *size_bytes
    }

    fn segments(&self, _: &u64) -> Vec<fstree::Segment> {
        self.data.clone()
    }

    fn read_at(&self, _: &u64, _: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        buffer.fill(7);
        Ok(())
    }
}

#[test]
fn large_holes_are_not_written() {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let file = tree.add(Inode {
        metadata: Metadata::with_mode(0o600),
        kind: FileKind::Regular(1 << 40),
    });
    tree.link(tree.root(), name("disk"), file);
    let empty = Sparse {
        tree: Tree::new(Metadata::directory(0o755)),
        data: Vec::new(),
    };
    let data = vec![fstree::Segment {
        offset_bytes: 1 << 30,
        length_bytes: 4096,
    }];
    let new = Sparse { tree, data };
    let options = LayerOptions::default();
    let writer = LayerPlan::new(&empty, &new, &tree_diff::Unrelated, options).expect("compared");
    let tar = writer.write(&new, Vec::new()).expect("written").out;
    assert!(tar.len() < 16 << 10, "{} bytes", tar.len());
    let mut archive = tar_stream::ArchiveReader::new(&tar[..], tar_stream::Limits::default());
    archive.next_entry().expect("valid").expect("the root");
    let entry = archive.next_entry().expect("valid").expect("the file");
    assert_eq!((&entry.path[..], entry.size_bytes), (&b"disk"[..], 1 << 40));
    assert_eq!(entry.segments.first(), new.data.first());
}

/// Removes the names that layers reserve.
fn without_reserved(mut tree: Files) -> Files {
    let reserved: Vec<_> = tree
        .links()
        .filter(|link| link.name.as_bytes().starts_with(b".wh."))
        .map(|link| (link.parent, link.name.clone()))
        .collect();
    for (parent, name) in reserved {
        tree.unlink(parent, name.as_bytes());
    }
    tree
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_layer_makes_the_new_tree_of_the_old(
        before in vec(action(), 0..40),
        after in vec(action(), 0..20),
    ) {
        let mut old: Files = Tree::new(Metadata::directory(0o755));
        before.iter().for_each(|action| act(&mut old, action));
        let mut new = old.clone();
        after.iter().for_each(|action| act(&mut new, action));
        let (old, new) = (without_reserved(old), without_reserved(new));
        assert_layered(&old, &new);
        assert_layered(&new, &old);
    }

    #[test]
    fn layers_on_layers_make_the_last_tree(steps in vec(vec(action(), 0..12), 1..5)) {
        let mut tree: Files = Tree::new(Metadata::directory(0o755));
        let mut tars = vec![base(&tree).expect("a layer").out];
        for actions in steps {
            let old = without_reserved(tree);
            tree = old.clone();
            actions.iter().for_each(|action| act(&mut tree, action));
            tree = without_reserved(tree);
            tars.push(layer(&old, &tree, LayerOptions::default()).expect("a layer").out);
        }
        let tars: Vec<&[u8]> = tars.iter().map(|tar| &tar[..]).collect();
        let differences = image(&tars).differences(&dump(&tree));
        prop_assert!(differences.is_empty(), "{}", differences.join("\n"));
    }
}
