use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use testkit::TreeDump;
use tree_archive::UnpackOptions;

use crate::sample::{allocated_bytes, is_root, one_of_each};
use crate::{packed, trusting, unpacked};

fn same(one: &Path, other: &Path) {
    let one = TreeDump::from_directory(one).expect("readable");
    let other = TreeDump::from_directory(other).expect("readable");
    let differences = one.differences(&other);
    assert!(differences.is_empty(), "{differences:#?}");
}

#[test]
fn a_tree_comes_back_as_it_was() {
    let (from, to) = (
        tempfile::tempdir().expect("made"),
        tempfile::tempdir().expect("made"),
    );
    one_of_each(from.path());
    let tar = packed(from.path(), b".", b"copy");
    if !is_root() {
        return;
    }
    unpacked(&tar, to.path(), &trusting()).expect("unpacked");
    let copy = to.path().join("copy");
    same(from.path(), &copy);
    assert!(allocated_bytes(&copy.join("sparse")) < 200 << 10);
    assert_eq!(allocated_bytes(&copy.join("one hole")), 0);
    let inode = |path: &str| fs::metadata(copy.join(path)).expect("there").ino();
    assert_eq!(inode("again"), inode("sub/file"));
    // The archive is unpacked again over the existing files.
    unpacked(&tar, to.path(), &trusting()).expect("unpacked");
    same(from.path(), &copy);
}

#[test]
fn the_same_directory_gives_the_same_bytes() {
    let from = tempfile::tempdir().expect("made");
    one_of_each(from.path());
    assert!(packed(from.path(), b".", b"a") == packed(from.path(), b".", b"a"));
}

#[test]
fn names_are_checked_and_replaced() {
    let (from, to) = (
        tempfile::tempdir().expect("made"),
        tempfile::tempdir().expect("made"),
    );
    fs::create_dir(from.path().join("d")).expect("made");
    fs::write(from.path().join("d/f"), "f").expect("written");
    fs::hard_link(from.path().join("d/f"), from.path().join("d/g")).expect("linked");
    let options = UnpackOptions {
        only_below: Some(b"d".to_vec()),
        renamed: Some(fstree::Name::new(b"e").expect("a name")),
        ..UnpackOptions::default()
    };
    let tar = packed(from.path(), b"d", b"d");
    unpacked(&tar, to.path(), &options).expect("unpacked");
    assert_eq!(
        fs::metadata(to.path().join("e/g")).expect("there").nlink(),
        2
    );
    let other = packed(from.path(), b"d", b"x");
    assert!(unpacked(&other, to.path(), &options).is_err());
}

#[test]
fn a_single_file_and_the_content_of_a_directory() {
    let (from, to) = (
        tempfile::tempdir().expect("made"),
        tempfile::tempdir().expect("made"),
    );
    fs::write(from.path().join("f"), "f").expect("written");
    unpacked(&packed(from.path(), b"f", b"g"), to.path(), &trusting()).expect("unpacked");
    unpacked(&packed(from.path(), b".", b"."), to.path(), &trusting()).expect("unpacked");
    let names: Vec<_> = fs::read_dir(to.path()).expect("read").flatten().collect();
    assert_eq!(names.len(), 2);
}

fn mode_of(directory: &Path, name: &str) -> u32 {
    let metadata = fs::metadata(directory.join(name)).expect("there");
    metadata.mode() & 0o7777
}

#[test]
fn without_trust_set_id_bits_and_devices_stay_behind() {
    let (from, to) = (
        tempfile::tempdir().expect("made"),
        tempfile::tempdir().expect("made"),
    );
    one_of_each(from.path());
    let open = from.path().join("open");
    fs::create_dir(&open).expect("made");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o7777)).expect("set");
    let tar = packed(from.path(), b".", b".");
    let done = unpacked(&tar, to.path(), &UnpackOptions::default()).expect("unpacked");
    assert_eq!(mode_of(to.path(), "open"), 0o1777);
    assert_eq!(done.devices_left_out, u64::from(is_root()));
    assert_eq!(mode_of(to.path(), "exact"), 0o711);
    assert!(!to.path().join("null").exists());
}
