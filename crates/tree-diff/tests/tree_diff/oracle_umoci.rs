//! Layers, applied by umoci, as root.

use std::process::Command;

use fstree::{Device, FileKind, Inode, Metadata, Tree, Xattrs};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use testkit::TreeDump;
use testkit::images::{Packing, TestImage, TestLayer, pack, write_directory};
use tree_diff::LayerOptions;

use crate::layered::{base, dump, layer};
use crate::random::{act, action};
use crate::trees::{Files, find, name, set, tree};

fn unpacked(tars: &[&[u8]]) -> TreeDump {
    let scratch = tempfile::tempdir().expect("there is room");
    let (layout, bundle) = (scratch.path().join("layout"), scratch.path().join("bundle"));
    let layers = tars.iter().map(|tar| TestLayer {
        tar: tar.to_vec(),
        blob: pack(tar, Packing::Gzip),
        packing: Packing::Gzip,
    });
    let image = TestImage::new(layers.collect());
    write_directory(&image.layout(Some("test")), &layout);
    let output = Command::new("umoci")
        .args(["unpack", "--image"])
        .arg(format!("{}:test", layout.display()))
        .arg(&bundle)
        .output()
        .expect("umoci is installed");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "umoci, which needs root: {message}"
    );
    TreeDump::from_directory(&bundle.join("rootfs")).expect("the bundle is readable")
}

fn assert_umoci_agrees(old: &Files, new: &Files) {
    let below = base(old).expect("a layer").out;
    let above = layer(old, new, LayerOptions::default())
        .expect("a layer")
        .out;
    let differences = dump(new).differences(&unpacked(&[&below, &above]));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn oracle_umoci_makes_the_new_tree_of_every_kind_of_file() {
    let mut old = tree(&[
        ("etc/passwd", "root"),
        ("etc/linked", "content"),
        ("usr/share/doc/a", "1"),
        ("usr/share/doc/b", "2"),
        ("var/log/", ""),
        ("bin", "->usr/bin"),
    ]);
    let file = find(&old, "etc/linked");
    old.link(old.root(), name("again"), file);
    let mut new = old.clone();
    let root = new.root();
    set(&mut new, "again", "other content");
    new.unlink(find(&old, "usr/share"), b"doc");
    new.unlink(root, b"bin");
    let null = FileKind::CharDevice(Device { major: 1, minor: 3 });
    let disk = FileKind::BlockDevice(Device { major: 8, minor: 0 });
    for (label, kind) in [
        ("null", null),
        ("disk", disk),
        ("pipe", FileKind::Fifo),
        ("bin", FileKind::Directory(Default::default())),
        ("sparse", FileKind::Regular(vec![0; 3 << 20])),
        ("\u{e9}\n", FileKind::Symlink(b"../\xff".as_slice().into())),
    ] {
        let metadata = Metadata::with_mode(0o4751);
        let id = new.add(Inode { metadata, kind });
        new.link(root, name(label), id);
    }
    let passwd = find(&new, "etc/passwd");
    let metadata = &mut new.inode_mut(passwd).metadata;
    let capability = b"\x01\0\0\x02\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    metadata.xattrs = Xattrs::from_iter([
        (&b"user.note"[..], &b"a\0b"[..]),
        (b"security.capability", capability),
    ]);
    (metadata.uid, metadata.gid) = (3_000_000, 70_000);
    metadata.mtime.nanoseconds = 123_456_789;
    assert_umoci_agrees(&old, &new);
    assert_umoci_agrees(&new, &old);
}

#[test]
fn oracle_umoci_makes_the_new_tree_of_random_ones() {
    let mut runner = TestRunner::new(Config::with_cases(25));
    let changes = (vec(action(), 10..40), vec(action(), 1..20));
    let tested = runner.run(&changes, |(before, after)| {
        let mut old: Files = Tree::new(Metadata::directory(0o755));
        before.iter().for_each(|action| act(&mut old, action));
        let mut new = old.clone();
        after.iter().for_each(|action| act(&mut new, action));
        let reserved = |tree: &Files| {
            let mut links = tree.links();
            links.any(|link| link.name.as_bytes().starts_with(b".wh."))
        };
        prop_assume!(!reserved(&old) && !reserved(&new));
        assert_umoci_agrees(&old, &new);
        Ok(())
    });
    tested.expect("the trees are equal");
}
