//! A native root, beside the changes of staged directories on the same disk.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use fstree::{BLOCK_SIZE_BYTES, FileKind, Metadata, TreeBuilder};
use rootfs_view::{OpenError, View};

use crate::image::write_disks;
use crate::let_in;

/// Returns a disk with these files.
fn disk(files: &[(&str, &str)]) -> File {
    let mut builder: TreeBuilder<Vec<u8>> = TreeBuilder::new(Metadata::directory(0o755));
    for (path, content) in files {
        let content = content.as_bytes().to_vec();
        builder
            .file(path, Metadata::with_mode(0o644), content)
            .expect("new");
    }
    let disk = tempfile::tempfile().expect("made");
    let options = ext4_writer::Options {
        size_bytes: 64 << 20,
        ..Default::default()
    };
    ext4_writer::write(&builder.finish(), &options, &disk).expect("written");
    disk
}

/// Opens the native root of a disk.
fn native(disk: &File) -> Result<View<File>, OpenError> {
    let disks = tempfile::tempdir().expect("a temporary directory");
    write_disks(disks.path());
    let fsmeta = File::open(disks.path().join("fsmeta.erofs")).expect("there");
    let disk = disk.try_clone().expect("cloned");
    View::open_native(disk, fsmeta, Vec::new(), 1 << 30)
}

#[test]
fn a_native_root_and_staged_directories_do_not_show_each_other() {
    let disk = disk(&[
        ("upper/srv/file", "root"),
        ("staged/0/upper/own", "own"),
        ("beside", ""),
    ]);
    let view = native(&disk).expect("opened");
    let paths: Vec<Vec<u8>> = view.tree().walk().map(|entry| entry.path).collect();
    assert_eq!(paths, [&b""[..], b"srv", b"srv/file"]);
    assert!(view.image().find(b"a").is_some(), "the image's tree");

    let targets = [b"/work".to_vec()];
    let image = let_in::image(&[("seen", "seen")], None);
    let staged = View::open_staged(disk, image, &targets, 1 << 30).expect("opened");
    let has = |path: &[u8]| staged.tree().find(path).is_some();
    assert!(has(b"work/own") && has(b"work/seen"), "the staged files");
    assert!(!has(b"srv") && !has(b"upper"), "the root");
}

#[test]
fn the_blocks_of_a_file_are_those_of_the_disk() {
    let disk = disk(&[("upper/file", "content"), ("upper/empty", "")]);
    let view = native(&disk).expect("opened");
    let extents = |path: &[u8]| {
        let id = view.tree().find(path).expect("there");
        let FileKind::Regular(content) = &view.tree().inode(id).kind else {
            panic!("no regular file");
        };
        view.upper_extents(content).expect("on the disk").to_vec()
    };
    let [extent] = &extents(b"file")[..] else {
        panic!("one block");
    };
    let mut found = [0; 7];
    let at = extent.start_block * BLOCK_SIZE_BYTES;
    disk.read_exact_at(&mut found, at).expect("readable");
    assert_eq!(&found, b"content");
    assert!(extents(b"empty").is_empty());
}

#[test]
fn a_disk_without_a_root_is_refused() {
    for path in ["file", "upper", "staged/0/upper/own"] {
        let refused = native(&disk(&[(path, "")]));
        assert!(matches!(refused, Err(OpenError::NoUpper)), "{path}");
    }
}
