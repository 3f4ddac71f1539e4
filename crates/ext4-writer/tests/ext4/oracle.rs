use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use fstree::{FileKind, Tree};

use crate::image;
use crate::mounted::{Mount, e2fsck};
use crate::sample::{add_file, one_of_each};

#[test]
fn oracle_e2fsck_accepts_every_size() {
    const MIB: u64 = 1 << 20;
    const GROUP: u64 = 128 * MIB;
    let mut sizes = vec![
        16 * MIB,
        17 * MIB + 4096,
        100 * MIB,
        GROUP,
        1024 * MIB,
        4096 * MIB,
    ];
    for blocks in [1, 2, 50, 600, 5000] {
        sizes.extend([
            GROUP + blocks * 4096,
            GROUP - blocks * 4096,
            17 * GROUP + blocks * 4096,
        ]);
    }
    // The last is the largest file that the test's own filesystem is sure to hold.
    sizes.extend([64 << 30, 1 << 40, (16 << 40) - 4096]);
    let mut tree = Tree::new(fstree::Metadata::directory(0o755));
    add_file(&mut tree, "file", vec![1; 10_000]);
    for size_bytes in sizes {
        e2fsck(image(&tree, size_bytes).path());
    }
}

#[test]
fn oracle_e2fsck_accepts_one_of_each() {
    for size_bytes in [64 << 20, 1 << 30] {
        e2fsck(image(&one_of_each(), size_bytes).path());
    }
}

/// The second file crosses the end of the first group.
#[test]
fn oracle_e2fsck_accepts_files_across_groups() {
    let mut tree = Tree::new(fstree::Metadata::directory(0o755));
    add_file(&mut tree, "first", vec![1; 100 << 20]);
    add_file(&mut tree, "second", vec![2; 40 << 20]);
    e2fsck(image(&tree, 300 << 20).path());
}

#[test]
fn oracle_the_kernel_sees_the_tree_and_uses_the_rest() {
    let tree = one_of_each();
    let image = image(&tree, 256 << 20);
    let mount = Mount::new(image.path());
    compare(&tree, mount.path());
    fs::write(mount.path().join("new"), vec![3; 5 << 20]).expect("the kernel writes");
    fs::create_dir(mount.path().join("many/below/new")).expect("the kernel makes directories");
    fs::remove_file(mount.path().join("blocks")).expect("the kernel removes");
    drop(mount);
    e2fsck(image.path());
}

fn compare(tree: &Tree<Vec<u8>>, mounted: &Path) {
    let links = tree.link_counts();
    let mut numbers = BTreeMap::new();
    for entry in tree.walk() {
        let path = mounted.join(std::ffi::OsStr::from_bytes(&entry.path));
        let shown = entry.path.escape_ascii();
        let found = fs::symlink_metadata(&path).unwrap_or_else(|error| panic!("{shown}: {error}"));
        let inode = entry.inode;
        assert_eq!(found.mode(), u32::from(inode.st_mode()), "{shown}");
        assert_eq!(
            (found.uid(), found.gid()),
            (inode.metadata.uid, inode.metadata.gid),
            "{shown}"
        );
        let time = (
            found.mtime(),
            u32::try_from(found.mtime_nsec()).expect("positive"),
        );
        assert_eq!(
            time,
            (
                inode.metadata.mtime.seconds,
                inode.metadata.mtime.nanoseconds
            )
        );
        assert_eq!(found.nlink(), links[entry.id.index()], "{shown}");
        assert_eq!(
            *numbers.entry(entry.id).or_insert(found.ino()),
            found.ino(),
            "{shown}"
        );
        match &inode.kind {
            FileKind::Regular(content) => {
                assert!(fs::read(&path).expect("readable") == *content, "{shown}");
            }
            FileKind::Symlink(target) => {
                let read = fs::read_link(&path).expect("readable");
                assert_eq!(read.as_os_str().as_bytes(), &**target);
            }
            FileKind::CharDevice(device) | FileKind::BlockDevice(device) => {
                let rdev = found.rdev();
                let numbers = (rustix::fs::major(rdev), rustix::fs::minor(rdev));
                assert_eq!(numbers, (device.major, device.minor), "{shown}");
            }
            _ => {}
        }
        for (name, value) in &inode.metadata.xattrs {
            let mut buffer = vec![0; 8192];
            let length = rustix::fs::lgetxattr(&path, name, &mut buffer[..])
                .unwrap_or_else(|error| panic!("{shown} {}: {error}", name.escape_ascii()));
            assert_eq!(&buffer[..length], value, "{shown}");
        }
    }
}
