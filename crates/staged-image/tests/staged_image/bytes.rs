//! Images as bytes: equal trees become equal ones.

use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use path_rules::Rules;
use staged_image::{Key, Source, list};

use super::Host;

/// The checksum and the UUID in the superblock, which is at byte 1024 (`struct erofs_super_block`). The UUID is of
/// the key, which has the inodes of the host.
const OF_THE_KEY: [Range<usize>; 2] = [1024 + 4..1024 + 8, 1024 + 48..1024 + 64];
/// The number of files.
const FILES: usize = 200;

/// Writes the image of directories, whether there is one with their key or not.
fn image(host: &Host, directories: &[&Path], name: &str) -> (Key, Vec<u8>) {
    let rules = Rules::with_defaults();
    let sources = directories.iter().map(|directory| Source {
        directory,
        rules: &rules,
    });
    let mut listing = list(&sources.collect::<Vec<_>>()).expect("listed");
    let path = host.root.path().join(name);
    let mut options = File::options();
    let options = options.read(true).write(true).create_new(true);
    listing
        .write_to(options.open(&path).expect("made"))
        .expect("written");
    (listing.key(), fs::read(path).expect("read"))
}

/// Copies a directory with all attributes, the last name first, so that the files have other inodes in another
/// order.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("made");
    let names = fs::read_dir(from).expect("listed");
    let mut names: Vec<PathBuf> = names.map(|name| name.expect("a name").path()).collect();
    names.sort();
    for path in names.iter().rev() {
        let mut command = Command::new("cp");
        let copied = command.arg("-a").arg(path).arg(to).status();
        assert!(copied.expect("cp runs").success());
    }
    let metadata = fs::metadata(from).expect("there");
    fs::set_permissions(to, metadata.permissions()).expect("set");
    let opened = File::open(to).expect("opened");
    opened
        .set_modified(metadata.modified().expect("known"))
        .expect("set");
}

/// Checks that two images have other keys, and are the same otherwise.
#[track_caller]
fn assert_differs_by_its_key(one: &[u8], other: &[u8]) {
    assert_eq!(one.len(), other.len());
    let bytes = one.iter().zip(other).enumerate();
    let differing: Vec<usize> = bytes
        .filter(|(_, (one, other))| one != other)
        .map(|(offset_bytes, _)| offset_bytes)
        .collect();
    let is_of_key = |offset: &usize| OF_THE_KEY.iter().any(|range| range.contains(offset));
    assert!(differing.iter().all(is_of_key), "{differing:?}");
    assert!(!differing.is_empty());
}

#[test]
fn equal_trees_become_equal_bytes() {
    let host = Host::new();
    let project = host.project();
    for number in 0..FILES {
        // Of all sizes, some of equal content.
        let content = format!("{} ", number % 50).repeat(number * number % 7_001);
        host.write(&format!("d{}/{number}", number % 7), &content);
    }
    fs::hard_link(project.join("d0/0"), project.join("d0/linked")).expect("linked");
    fs::hard_link(project.join("d0/7"), project.join("d0/deep")).expect("linked");
    symlink("../d1/1", project.join("d0/link")).expect("linked");
    host.write(".env", "the-secret");
    host.write("d3/key.pem", "the-secret");
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(project.join("d1/1"), executable).expect("set");
    let other = host.root.path().join("other");
    copy(&project, &other);
    let (key, first) = image(&host, &[&project], "first");
    let (same_key, again) = image(&host, &[&project], "again");
    assert_eq!(key, same_key);
    assert!(first == again, "the same directory became other bytes");
    let (other_key, copied) = image(&host, &[&other], "copied");
    assert_ne!(key, other_key);
    assert_differs_by_its_key(&first, &copied);
    // So do two sources.
    let (_, both) = image(&host, &[&project, &other], "both");
    let (_, swapped) = image(&host, &[&other, &project], "swapped");
    assert_differs_by_its_key(&both, &swapped);
}
