use std::collections::HashSet;
use std::fmt::Write;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use erofs_writer::{FileData, Image, ImageWriter, Options};
use fstree::{FileKind, Inode, InodeId, Metadata, Timestamp, Tree};

use super::Mounted;
use super::measure::measured;
use crate::samples::name;

/// Number of names in the one large directory.
const NAMES: usize = 100_000;
/// Number of names in each of the other directories.
const NAMES_EACH: usize = 1000;
/// Number of nested directories.
const DEPTH: usize = 1000;
/// Number of names of one file.
const LINKS: usize = 65_000;

fn file(number: usize) -> Inode<FileData> {
    let mut metadata = Metadata::with_mode(0o644);
    // A time that differs from the image's makes inodes of the large form, as files have them.
    metadata.mtime = Timestamp {
        seconds: 1_700_000_000 + i64::try_from(number % 1000).unwrap(),
        nanoseconds: 1,
    };
    Inode {
        metadata,
        kind: FileKind::Regular(FileData::default()),
    }
}

/// Returns a directory of [`NAMES`] files, and the other inodes in directories of [`NAMES_EACH`].
fn tree(inodes: usize) -> Tree<FileData> {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let fill = |tree: &mut Tree<FileData>, directory: String, names: usize| {
        let parent = tree.add(Inode::directory(Metadata::directory(0o755)));
        tree.link(tree.root(), name(directory), parent);
        for number in 0..names {
            let id = tree.add(file(number));
            tree.link(parent, name(format!("file number {number}")), id);
        }
    };
    fill(&mut tree, "large".into(), NAMES.min(inodes - 2));
    while tree.len() < inodes {
        let names = NAMES_EACH.min(inodes - tree.len() - 1);
        let directory = format!("directory {}", tree.len());
        fill(&mut tree, directory, names);
    }
    tree
}

/// Tests one image of `inodes` inodes with the writer, the reader, `fsck.erofs` and the kernel.
pub(super) fn many_inodes(inodes: usize) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    let (tree, built) = measured(|| tree(inodes));
    let (summary, written) = measured(|| {
        let writer = ImageWriter::create(&path, Options::default());
        writer.unwrap().finish(&tree).unwrap().1
    });
    assert_eq!(summary.inodes, u64::try_from(inodes).unwrap());
    drop(tree);
    let image = Image::open(File::open(&path).unwrap()).unwrap();
    let (read, reading) = measured(|| image.read_tree().unwrap());
    assert_eq!(read.len(), inodes);
    drop(read);
    let (report, verifying) = measured(|| image.verify().unwrap());
    assert_eq!(report.inodes, summary.inodes);
    let fsck = Command::new("fsck.erofs").arg(&path).output().unwrap();
    assert!(fsck.status.success(), "{fsck:?}");
    let mounted = Mounted::file(&path);
    let (names, walked) = measured(|| walk(&mounted));
    assert_eq!(names + 1, inodes);
    let large = mounted.root().join("large");
    for number in [0, 1, 4999, NAMES - 1] {
        let found = fs::metadata(large.join(format!("file number {number}"))).unwrap();
        assert_eq!(
            found.mtime(),
            1_700_000_000 + i64::try_from(number % 1000).unwrap()
        );
    }
    assert!(!large.join("file number").exists());
    let mib = fs::metadata(&path).unwrap().len() >> 20;
    let mut said = format!("{inodes} inodes, {NAMES} of them in one directory, {mib} MiB:\n");
    for (what, took) in [
        ("the tree itself", built),
        ("written", written),
        ("read", reading),
        ("verified", verifying),
        ("walked in the kernel's mount", walked),
    ] {
        writeln!(said, "  {what}: {took}").unwrap();
    }
    said
}

/// Returns the number of names below the root.
fn walk(mounted: &Mounted) -> usize {
    let mut names = 0;
    let mut open = vec![mounted.root()];
    while let Some(directory) = open.pop() {
        let mut seen = HashSet::new();
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            assert!(seen.insert(entry.file_name()), "{entry:?} twice");
            names += 1;
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
        }
    }
    names
}

/// Tests a path of [`DEPTH`] directories, and files of [`LINKS`] and of more than 65,535 names.
pub(super) fn depth_and_links() -> String {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let mut deep = tree.root();
    for _ in 0..DEPTH {
        let next = tree.add(Inode::directory(Metadata::directory(0o755)));
        tree.link(deep, name("d"), next);
        deep = next;
    }
    let many = linked(&mut tree, "many", LINKS);
    let most = linked(&mut tree, "most", 70_000);
    assert_eq!(tree.link_counts()[many.index()], 65_000);
    assert_eq!(tree.link_counts()[most.index()], 70_000);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    let writer = ImageWriter::create(&path, Options::default());
    writer.unwrap().finish(&tree).unwrap();
    let mounted = Mounted::file(&path);
    let deepest = mounted.root().join(vec!["d"; DEPTH].join("/"));
    assert_eq!(fs::read_dir(deepest).unwrap().count(), 0);
    for (directory, links) in [("many", 65_000), ("most", 70_000)] {
        let one = mounted.root().join(directory).join("12345");
        assert_eq!(fs::metadata(one).unwrap().nlink(), links);
    }
    format!("{DEPTH} directories deep; files of {LINKS} and 70000 names\n")
}

fn linked(tree: &mut Tree<FileData>, directory: &str, links: usize) -> InodeId {
    let parent = tree.add(Inode::directory(Metadata::directory(0o755)));
    tree.link(tree.root(), name(directory), parent);
    let id = tree.add(file(0));
    for number in 0..links {
        tree.link(parent, name(format!("{number}")), id);
    }
    id
}
