//! Images that mke2fs made and the kernel used: this crate's reader shows the same as the kernel.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::Path;
use std::process::Command;

use rustix::fs::{CWD, FallocateFlags, FileType, Mode, XattrFlags, makedev, mknodat, setxattr};

use crate::listing::{dump, open};
use crate::mounted::{Mount, e2fsck, succeed};

/// The list `user::rwx user:1000:r-- group::r-x mask::r-x other::---`.
const ACL: [u8; 44] = [
    2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 4, 0, 0xe8, 3, 0, 0, 4, 0, 5, 0, 255, 255,
    255, 255, 16, 0, 5, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255,
];

/// Fills a directory with files of many kinds, before mke2fs runs and again in the mounted image.
fn fill(root: &Path, label: &str) {
    let file = |name: &str, content: &[u8]| {
        fs::write(root.join(format!("{label}-{name}")), content).expect("written");
    };
    file("empty", b"");
    file("small", b"fits an inode");
    file("medium", &[b'm'; 150]);
    file("large", &vec![7; 3 << 20]);
    sparse(&root.join(format!("{label}-sparse")));
    for length in [1, 59, 60, 150, 800] {
        let target = "t".repeat(length);
        symlink(target, root.join(format!("{label}-link-{length}"))).expect("linked");
    }
    fs::hard_link(
        root.join(format!("{label}-small")),
        root.join(format!("{label}-twin")),
    )
    .expect("linked");
    let devices = [(1, 3), (259, 70_000), (0, 0)];
    for (index, (major, minor)) in devices.into_iter().enumerate() {
        let path = root.join(format!("{label}-device-{index}"));
        let device = makedev(major, minor);
        mknodat(CWD, &path, FileType::CharacterDevice, Mode::RUSR, device).expect("made");
    }
    let fifo = root.join(format!("{label}-fifo"));
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).expect("made");
    attributes(&root.join(format!("{label}-medium")));
    let directory = root.join(format!("{label}-few"));
    fs::create_dir(&directory).expect("made");
    fs::write(directory.join("one"), b"1").expect("written");
    attributes(&directory);
    many(&root.join(format!("{label}-many")));
}

/// Writes every other block, so that the map needs several levels.
fn sparse(path: &Path) {
    let file = File::create(path).expect("made");
    for index in 0..500 {
        file.write_all_at(&[1; 4096], index * 8192)
            .expect("written");
    }
    file.write_all_at(b"far", 200 << 20).expect("written");
}

fn attributes(path: &Path) {
    let set = |name: &str, value: &[u8]| {
        setxattr(path, name, value, XattrFlags::empty()).expect("the attribute is set");
    };
    set("user.short", b"s");
    set("trusted.empty", b"");
    set("user.long", &[b'l'; 400]);
    set("system.posix_acl_access", &ACL);
    if path.is_dir() {
        set("system.posix_acl_default", &ACL);
    }
}

/// Makes enough names for a hash tree, with inner nodes if blocks are small; then removes some.
fn many(directory: &Path) {
    fs::create_dir(directory).expect("made");
    for index in 0..700 {
        let name = format!("{index}-{}", "n".repeat(200));
        fs::write(directory.join(name), b"").expect("written");
    }
    for index in (0..700).step_by(3) {
        let name = format!("{index}-{}", "n".repeat(200));
        fs::remove_file(directory.join(name)).expect("removed");
    }
}

/// Makes changes that only a mounted filesystem can have.
fn use_it(root: &Path) {
    fill(root, "used");
    let file = File::create(root.join("unwritten")).expect("made");
    // Block maps cannot have unwritten extents.
    let done = rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, 1 << 20);
    assert!(done.is_ok() || done == Err(rustix::io::Errno::OPNOTSUPP));
    let kept = rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 1 << 20, 1 << 20);
    assert_eq!(done, kept);
    file.write_all_at(&[5; 5000], 300_000).expect("written");
    file.set_len(2_000_001).expect("set");
    fs::rename(root.join("used-few"), root.join("used-many/few")).expect("renamed");
    fs::remove_file(root.join("made-large")).expect("removed");
}

fn check(name: &str, arguments: &[&str]) {
    let source = tempfile::tempdir().expect("a temporary directory");
    fill(source.path(), "made");
    let image = tempfile::NamedTempFile::new().expect("a temporary file");
    image.as_file().set_len(96 << 20).expect("set");
    let mut mke2fs = Command::new("mke2fs");
    mke2fs
        .args(["-q", "-F", "-N", "8000", "-d"])
        .arg(source.path());
    succeed(mke2fs.args(arguments).arg(image.path()));
    let path = image.path();
    let compare = |when: &str| {
        let image = open(path);
        let found = dump(&image);
        if !name.starts_with("bigalloc") {
            let verdict = image.verify();
            assert!(verdict.is_ok(), "{name}, {when}: {verdict:?}");
        }
        let mount = Mount::with(path, "loop,ro");
        let differences = mount.dump().differences(&found);
        assert!(differences.is_empty(), "{name}, {when}: {differences:#?}");
    };
    compare("made");
    let mount = Mount::new(path);
    use_it(mount.path());
    drop(mount);
    e2fsck(path);
    compare("used");
}

#[test]
fn oracle_default_features() {
    check("default", &["-t", "ext4"]);
}

#[test]
fn oracle_blocks_of_every_size() {
    for size in ["1024", "2048", "4096"] {
        check(size, &["-t", "ext4", "-b", size]);
    }
}

#[test]
fn oracle_older_kinds() {
    check("ext2", &["-t", "ext2"]);
    check("ext3", &["-t", "ext3"]);
    check(
        "ext2, old inodes",
        &["-t", "ext2", "-I", "128", "-b", "1024"],
    );
}

#[test]
fn oracle_without_a_feature() {
    for features in ["^has_journal", "^extent,^64bit", "^64bit", "^metadata_csum"] {
        check(features, &["-t", "ext4", "-O", features]);
    }
    check(
        "gdt_csum",
        &["-t", "ext4", "-O", "^metadata_csum,uninit_bg"],
    );
    check("no filetype", &["-t", "ext4", "-O", "^filetype"]);
}

#[test]
fn oracle_with_more_features() {
    check("inline_data", &["-t", "ext4", "-O", "inline_data"]);
    let inline = ["-t", "ext4", "-b", "1024", "-I", "512", "-O", "inline_data"];
    check("inline_data, large inodes", &inline);
    check(
        "meta_bg",
        &[
            "-t",
            "ext4",
            "-O",
            "meta_bg,^resize_inode",
            "-b",
            "1024",
            "-g",
            "1024",
        ],
    );
    check(
        "sparse_super2",
        &["-t", "ext4", "-O", "sparse_super2,^resize_inode"],
    );
    check("csum seed", &["-t", "ext4", "-O", "metadata_csum_seed"]);
    check("bigalloc", &["-t", "ext4", "-O", "bigalloc"]);
    check(
        "more",
        &["-t", "ext4", "-O", "orphan_file,ea_inode,large_dir,mmp"],
    );
}
