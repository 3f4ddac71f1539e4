use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use super::*;

/// Opens the file at a path below `root`, the root of a sandbox. `is_root` is true if the owner of `root` counts as root.
fn way(root: &Path, path: &str, is_root: bool) -> rustix::io::Result<OwnedFd> {
    let directory = File::open(root).unwrap();
    let own = fs::metadata(root).unwrap().uid();
    let owner = if is_root { own } else { own + 1 };
    follow(directory.as_fd(), path.as_bytes(), owner)
}

/// Returns true if the directory is the one at this path.
fn is(directory: &OwnedFd, path: &Path) -> bool {
    let expected = fs::metadata(path).unwrap();
    let found = fstat(directory).unwrap();
    (found.st_dev, found.st_ino) == (expected.dev(), expected.ino())
}

fn root() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::set_permissions(root.path(), Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(root.path().join("var/home/me")).unwrap();
    let var = root.path().join("var");
    fs::set_permissions(var, Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(root.path().join("etc")).unwrap();
    root
}

#[test]
fn missing_directories_are_made() {
    let root = root();
    let found = way(root.path(), "/var/home/me/./.config//key", false).unwrap();
    assert!(is(&found, &root.path().join("var/home/me/.config/key")));
}

#[test]
fn links_of_root_are_followed_from_the_sandbox_s_root() {
    let root = root();
    symlink("/var/home", root.path().join("home")).unwrap();
    symlink("../etc", root.path().join("var/etc")).unwrap();
    let found = way(root.path(), "/home/me", true).unwrap();
    assert!(is(&found, &root.path().join("var/home/me")));
    let found = way(root.path(), "/var/etc", true).unwrap();
    assert!(is(&found, &root.path().join("etc")));
}

#[test]
fn links_of_others_are_not_followed() {
    let root = root();
    let home = root.path().join("var/home/me");
    symlink("/etc", home.join(".config")).unwrap();
    let refused = |path, is_root| way(root.path(), path, is_root).unwrap_err();
    assert_eq!(refused("/var/home/me/.config", false), Errno::LOOP);
    assert_eq!(refused("/var/home/me/.config/new", false), Errno::LOOP);
    assert!(!root.path().join("etc/new").exists());
    // A link of root's, which another user can move here.
    fs::set_permissions(&home, Permissions::from_mode(0o777)).unwrap();
    assert_eq!(refused("/var/home/me/.config", true), Errno::LOOP);
    // A link of root's that leads through one of another user.
    symlink("/var/home/me/.config/new", root.path().join("conf")).unwrap();
    assert_eq!(refused("/conf", true), Errno::LOOP);
    assert!(!root.path().join("etc/new").exists());
}

#[test]
fn links_without_an_end_and_files_are_errors() {
    let root = root();
    symlink("loop", root.path().join("loop")).unwrap();
    fs::write(root.path().join("file"), "").unwrap();
    let refused = |path| way(root.path(), path, true).unwrap_err();
    assert_eq!(refused("/loop"), Errno::LOOP);
    assert_eq!(refused("/file"), Errno::NOTDIR);
    assert_eq!(refused("/file/a"), Errno::NOTDIR);
}
