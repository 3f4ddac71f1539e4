//! A guest can make long paths, each with many names below it, with few blocks.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use erofs_writer::{ImageWriter, OutputFile};
use fstree::{Inode, Metadata, Name, Tree};
use tree_archive::{UnpackOptions, unpack};

use super::*;

/// The memory that packing may take besides the names, in bytes.
const CEILING_BYTES: u64 = 64 << 20;
/// The environment variable that names the child's case.
const CASE: &str = "MSB_PACK_CASE";

/// The upper disk's tree: nested directories with names of 250 bytes, and files in the last one.
struct Upper {
    tree: Tree<Vec<u8>>,
    last: InodeId,
}

impl Upper {
    fn deep(levels: usize) -> Self {
        let mut tree = Tree::new(Metadata::directory(0o755));
        let mut last = tree.root();
        let long = "d".repeat(250);
        let levels = std::iter::repeat_n(long.as_str(), levels);
        for name in std::iter::once("upper").chain(levels) {
            let inner = tree.add(Inode::directory(Metadata::directory(0o755)));
            tree.link(last, Name::new(name.as_bytes()).expect("a name"), inner);
            last = inner;
        }
        Self { tree, last }
    }

    /// Adds `files` files with `names` names each.
    fn files(mut self, files: usize, names: usize) -> Self {
        for file in 0..files {
            let id = self.tree.add(Inode {
                metadata: Metadata::with_mode(0o644),
                kind: FileKind::Regular(Vec::new()),
            });
            for name in 0..names {
                let name = Name::new(format!("{file}-{name}").as_bytes()).expect("a name");
                self.tree.link(self.last, name, id);
            }
        }
        self
    }

    /// Returns a sandbox's view of it, over an image without files.
    fn view(&self) -> View<File> {
        let (upper, lower) = (temporary(), temporary());
        let options = ext4_writer::Options {
            size_bytes: 1 << 30,
            ..Default::default()
        };
        ext4_writer::write(&self.tree, &options, &upper).expect("written");
        let nothing = Tree::new(Metadata::directory(0o755));
        let writer = ImageWriter::new(
            OutputFile::new(lower).expect("readable"),
            erofs_writer::Options::default(),
        )
        .expect("begun");
        let (lower, _) = writer.finish(&nothing).expect("written");
        View::open(upper, lower.into_inner(), Vec::new()).expect("opened")
    }
}

fn temporary() -> File {
    tempfile::tempfile().expect("made")
}

/// Returns a case by its name.
fn upper(case: &str) -> Upper {
    match case {
        "names" => Upper::deep(62).files(1, 30_000),
        "first-names" => Upper::deep(62).files(15_000, 2),
        "levels" => Upper::deep(3_000).files(1, 2_500),
        other => panic!("no case '{other}'"),
    }
}

/// Packs all of a view. Returns the memory that it took, in bytes, and its result.
fn pack(view: &View<File>) -> (u64, Result<(), FilesError>) {
    let before = memory_bytes("VmRSS:");
    std::fs::write("/proc/self/clear_refs", "5").expect("the peak is reset");
    let mut archive = ArchiveWriter::new(io::sink());
    let packed = pack_view(view, view.tree().root(), b".", None, &mut archive);
    (memory_bytes("VmHWM:").saturating_sub(before), packed)
}

fn memory_bytes(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("read");
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.expect("the kernel says it") << 10
}

#[test]
fn memory_does_not_grow_with_names_times_paths() {
    for case in ["names", "first-names", "levels"] {
        let child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "files::pack_view::tests::child_that_packs"])
            .env(CASE, case)
            .output()
            .expect("run");
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success(), "{case}: {said}");
        assert!(said.contains("1 passed"), "{case}: {said}");
    }
}

/// Does nothing unless the test above runs it.
#[test]
fn child_that_packs() {
    let Ok(case) = std::env::var(CASE) else {
        return;
    };
    let view = upper(&case).view();
    let (taken_bytes, packed) = pack(&view);
    assert!(taken_bytes < CEILING_BYTES, "{case}: {taken_bytes} bytes");
    match (&*case, packed) {
        ("levels", Err(error)) => {
            let error = error.to_string();
            assert!(
                error.contains("16384 bytes") && error.len() < 300,
                "{error}"
            );
        }
        (_, packed) => packed.expect("packed"),
    }
}

#[test]
fn other_names_of_a_file_are_links_to_the_first() {
    let view = Upper::deep(2).files(1, 2).view();
    let mut archive = ArchiveWriter::new(Vec::new());
    pack_view(&view, view.tree().root(), b"copy", None, &mut archive).expect("packed");
    let tar = archive.finish().expect("finished");
    let directory = tempfile::tempdir().expect("made");
    let opened = File::open(directory.path()).expect("opened");
    let unpacked = unpack(&tar[..], opened.as_fd(), &UnpackOptions::default());
    assert_eq!(unpacked.expect("unpacked").entries, 5);
    let level = "d".repeat(250);
    let number = |name: &str| {
        let path = directory.path().join("copy").join(&level).join(&level);
        std::fs::metadata(path.join(name)).expect("there").ino()
    };
    assert_eq!(number("0-0"), number("0-1"));
}
