//! Modes and owners of new files, under umasks that remove nothing and much.
//! A umask belongs to the whole process, so this is one test in its own program.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;

use rustix::fs::Mode;
use rustix::process::{geteuid, umask};

/// The user `nobody`, and its group.
const OTHER_USER: u32 = 65534;

const DIRECTORIES: [&str; 3] = ["directory", "above", "above/below"];
const FILES: [&str; 4] = ["file", "new", "lock", "socket"];

fn mode(path: &Path) -> u32 {
    let found = fs::symlink_metadata(path).expect("there");
    found.permissions().mode() & 0o7777
}

fn owner(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("there").uid()
}

/// Makes one of each kind in `root`, and returns the temporary ones.
fn make(root: &Path) -> (tempfile::TempDir, tempfile::NamedTempFile) {
    let path = |name: &str| root.join(name);
    durable_files::create_directory(&path("directory")).expect("made");
    durable_files::ensure_directory(&path("above/below")).expect("made");
    durable_files::create(&path("file")).expect("made");
    durable_files::create_new(&path("new")).expect("made");
    durable_files::open_or_create(&path("lock")).expect("made");
    durable_files::bind(&path("socket")).expect("bound");
    let directory = durable_files::temporary_directory(root, ".new-").expect("made");
    let file = durable_files::temporary_file(root, ".new-").expect("made");
    (directory, file)
}

#[test]
fn modes_do_not_depend_on_the_umask_and_owners_not_on_root() {
    for mask in [0o000, 0o002, 0o022, 0o077] {
        umask(Mode::from_raw_mode(mask));
        let root = tempfile::tempdir().expect("a directory");
        let path = |name: &str| root.path().join(name);
        let (directory, file) = make(root.path());
        for name in DIRECTORIES {
            assert_eq!(mode(&path(name)), 0o700, "{name} under umask {mask:03o}");
        }
        for name in FILES {
            assert_eq!(mode(&path(name)), 0o600, "{name} under umask {mask:03o}");
        }
        assert_eq!(mode(directory.path()), 0o700, "under umask {mask:03o}");
        assert_eq!(mode(file.path()), 0o600, "under umask {mask:03o}");
        assert_eq!(owner(&path("file")), geteuid().as_raw());
        what_is_there(root.path());
    }
    in_a_directory_of_another_user();
}

fn what_is_there(root: &Path) {
    let path = |name: &str| root.join(name);
    durable_files::ensure_directory(&path("above/below")).expect("there");
    durable_files::create_directory(&path("above")).expect_err("there already");
    durable_files::create_new(&path("file")).expect_err("there already");
    fs::write(path("file"), "kept").expect("written");
    durable_files::open_or_create(&path("file")).expect("opened");
    assert_eq!(fs::read(path("file")).expect("read"), b"kept");
    durable_files::create(&path("file")).expect("emptied");
    assert_eq!(fs::read(path("file")).expect("read"), b"");
    symlink("nowhere", path("link")).expect("linked");
    durable_files::open_or_create(&path("link")).expect_err("a link that leads nowhere");
    durable_files::ensure_directory(&path("file/below")).expect_err("below a file");
}

/// Files that root makes there are given to that user; no other user can give files away.
fn in_a_directory_of_another_user() {
    let root = tempfile::tempdir().expect("a directory");
    let expected = if geteuid().is_root() {
        chown(root.path(), Some(OTHER_USER), Some(OTHER_USER)).expect("given away");
        OTHER_USER
    } else {
        geteuid().as_raw()
    };
    // The file was root's before, and stays root's.
    fs::write(root.path().join("kept"), "").expect("written");
    durable_files::open_or_create(&root.path().join("kept")).expect("opened");
    assert_eq!(owner(&root.path().join("kept")), geteuid().as_raw());
    let (directory, file) = make(root.path());
    let made = DIRECTORIES.iter().chain(&FILES[..3]);
    let made = made.map(|name| root.path().join(name));
    for path in made.chain([directory.path().to_owned(), file.path().to_owned()]) {
        assert_eq!(owner(&path), expected, "{}", path.display());
    }
}
