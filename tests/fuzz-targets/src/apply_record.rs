//! The record of an apply that was interrupted.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use fs_err as fs;
use fs_err::os::unix::fs::symlink;
use tempfile::TempDir;

/// The content of a file outside of the directory.
const OUTSIDE: &str = "outside";

/// Finishes the apply of a record in a directory.
///
/// # Panics
/// If a file outside of the directory changes, or a record is written and read as another one.
pub fn run(bytes: &[u8]) {
    let scene = tempfile::tempdir().expect("a directory");
    let outside = make(&scene);
    let directory = scene.path().join("directory");
    let before = stamp(&outside);
    msb_host_changes::fuzzing::finish(bytes, &directory);
    let names = fs::read_dir(scene.path()).expect("listed").count();
    assert_eq!(names, 2, "a file was made or removed outside");
    let names = fs::read_dir(&outside).expect("listed").count();
    assert_eq!(names, 1, "a file was made or removed outside");
    let content = fs::read_to_string(outside.join("file")).expect("read");
    assert_eq!(content, OUTSIDE);
    assert_eq!(stamp(&outside), before);
}

/// Returns the mode, the owner and the number of names of the file outside.
fn stamp(outside: &Path) -> (u32, u32, u64) {
    let metadata = fs::metadata(outside.join("file")).expect("there");
    (metadata.mode(), metadata.uid(), metadata.nlink())
}

/// Makes the directory, with new files that wait for their places, and one outside, whose path is returned.
fn make(scene: &TempDir) -> PathBuf {
    let (directory, outside) = (scene.path().join("directory"), scene.path().join("outside"));
    let write = |directory: &Path, name: &str, content: &str| {
        fs::write(directory.join(name), content).expect("written");
    };
    fs::create_dir(&outside).expect("made");
    write(&outside, "file", OUTSIDE);
    fs::create_dir_all(directory.join("d")).expect("made");
    for name in ["a", "b", "d/c"] {
        write(&directory, name, "old");
    }
    for digit in ["0", "1"] {
        let name = format!(".msb-apply-{}", digit.repeat(16));
        write(&directory, &name, "new");
    }
    symlink(&outside, directory.join("out")).expect("made");
    symlink(outside.join("file"), directory.join("link")).expect("made");
    outside
}
