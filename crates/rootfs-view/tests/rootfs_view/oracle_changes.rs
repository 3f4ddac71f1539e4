//! One test for each kind of change that overlayfs writes.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::Path;

use testkit::TreeDump;

use crate::image::write_disks;
use crate::{assert_same, mount_disks, view};

fn check(what: &str, work: impl Fn(&Path)) {
    let disks = tempfile::tempdir().expect("a temporary directory");
    write_disks(disks.path());
    let mounts = mount_disks(disks.path());
    work(&mounts.root());
    drop(mounts);
    // A second mount reads everything from the disk, not from the kernel's memory.
    let mounts = mount_disks(disks.path());
    let shown = TreeDump::from_directory(&mounts.root()).expect("readable");
    drop(mounts);
    assert_same(&shown, &view(disks.path()), what);
}

fn chmod(path: &Path) {
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("changed");
}

#[test]
fn oracle_nothing_was_changed() {
    check("nothing", |_| {});
}

#[test]
fn oracle_files_and_directories_are_removed() {
    check("whiteouts", |root| {
        fs::remove_file(root.join("a/f0")).expect("removed");
        fs::remove_dir_all(root.join("a/d")).expect("removed");
        fs::remove_file(root.join("c/l")).expect("removed");
    });
}

#[test]
fn oracle_a_directory_is_made_anew() {
    check("opaque", |root| {
        fs::remove_dir_all(root.join("a")).expect("removed");
        fs::create_dir(root.join("a")).expect("made");
        fs::write(root.join("a/new"), "new").expect("written");
    });
}

#[test]
fn oracle_directories_are_moved() {
    check("redirects", |root| {
        // Moves within the parent, to another directory, and inside a moved directory.
        fs::rename(root.join("c"), root.join("z")).expect("moved");
        fs::rename(root.join("a/d"), root.join("b/moved")).expect("moved");
        fs::rename(root.join("b/moved/d"), root.join("b/moved/e")).expect("moved");
        fs::write(root.join("b/moved/e/new"), "new").expect("written");
        fs::create_dir(root.join("a/d")).expect("made");
        fs::rename(root.join("b"), root.join("a/d/b")).expect("moved");
        fs::remove_file(root.join("a/d/b/moved/f1")).expect("removed");
    });
}

#[test]
fn oracle_only_attributes_are_copied_up() {
    check("metacopy", |root| {
        chmod(&root.join("a/f0"));
        chmod(&root.join("a/d/f1"));
        fs::rename(root.join("a/f0"), root.join("c/renamed")).expect("moved");
        fs::rename(root.join("a"), root.join("moved")).expect("moved");
        chmod(&root.join("moved/d/d/f2"));
        fs::hard_link(root.join("moved/d/f1"), root.join("linked")).expect("linked");
    });
}

#[test]
fn oracle_hard_links_are_copied_up_together() {
    check("index", |root| {
        let file = File::options().write(true).open(root.join("a/s1"));
        let file = file.expect("opened");
        file.write_all_at(b"all names show this", 4000)
            .expect("written");
        fs::remove_file(root.join("shared")).expect("removed");
        fs::rename(root.join("b/d/s2"), root.join("c/other")).expect("moved");
    });
    check("index and metacopy", |root| {
        chmod(&root.join("c/s2"));
        fs::hard_link(root.join("a/s2"), root.join("b/s3")).expect("linked");
    });
}

#[test]
fn oracle_holes_and_what_is_behind_the_end() {
    check("sparse", |root| {
        let file = File::create(root.join("sparse")).expect("made");
        file.write_all_at(b"x", 1 << 20).expect("written");
        file.set_len(3 << 20).expect("made longer");
        let shorter = File::options().write(true).open(root.join("a/f0"));
        shorter.expect("opened").set_len(10).expect("cut");
    });
}
