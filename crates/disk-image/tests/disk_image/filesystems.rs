//! Filesystems as their own tools make them.

use std::fs;
use std::os::unix::fs::FileExt as _;

use disk_image::{Filesystem, RootChoice, RootError, find_root};

use crate::tools::Workshop;

fn root(workshop: &Workshop, name: &str) -> Result<Filesystem, RootError> {
    let image = workshop.open(name).expect("opened");
    Ok(find_root(&image, RootChoice::default())?.filesystem)
}

#[test]
fn oracle_filesystems_are_found_by_their_superblocks() {
    let workshop = Workshop::new();
    fs::create_dir(workshop.path("tree")).expect("made");
    for (make, size_bytes, expected) in [
        ("mkfs.ext4 -q disk", 32 << 20, Filesystem::Ext4),
        ("mkfs.ext3 -q disk", 32 << 20, Filesystem::Ext4),
        ("mkfs.ext2 -q disk", 32 << 20, Filesystem::Ext4),
        ("mkfs.xfs -q disk", 512 << 20, Filesystem::Xfs),
        ("mkfs.btrfs -q disk", 256 << 20, Filesystem::Btrfs),
        ("mkfs.erofs disk tree", 0, Filesystem::Erofs),
    ] {
        workshop.sized("disk", size_bytes);
        workshop.run(make);
        let found = root(&workshop, "disk").unwrap_or_else(|error| panic!("{make}: {error}"));
        assert_eq!(found, expected, "{make}");
    }
}

#[test]
fn oracle_content_that_is_no_root_is_refused_by_name() {
    let workshop = Workshop::new();
    let refusal = |make: &str| {
        workshop.sized("disk", 64 << 20);
        workshop.run(make);
        root(&workshop, "disk").expect_err("refused").to_string()
    };
    for (make, expected) in [
        ("mkswap -q disk", "it is swap space"),
        (
            "mke2fs -q -O journal_dev disk",
            "it is the journal of an ext4 on another disk",
        ),
    ] {
        assert_eq!(refusal(make), expected);
    }
    workshop.write("disk", &[0; 4096]);
    let error = root(&workshop, "disk").expect_err("refused");
    let expected = "the disk has neither a partition table nor a known filesystem";
    assert_eq!(error.to_string(), expected);
    let mut encrypted = vec![1; 4096];
    encrypted[..6].copy_from_slice(b"LUKS\xba\xbe");
    workshop.write("disk", &encrypted);
    let error = root(&workshop, "disk").expect_err("refused");
    assert_eq!(error.to_string(), "it is encrypted (LUKS)");
}

#[test]
fn oracle_a_journal_to_be_replayed_is_refused() {
    let workshop = Workshop::new();
    workshop.sized("disk", 32 << 20);
    workshop.run("mkfs.ext4 -q disk");
    workshop.run_with_input("debugfs -w -f - disk", "feature needs_recovery\n");
    let error = root(&workshop, "disk").expect_err("refused").to_string();
    assert!(
        error.contains("an ext4 with a journal to be replayed"),
        "{error}"
    );
    workshop.run("e2fsck -fy disk");
    assert_eq!(
        root(&workshop, "disk").expect("unmounted"),
        Filesystem::Ext4
    );
    // `log_root` of a btrfs.
    let path = workshop.sized("disk", 256 << 20);
    workshop.run("mkfs.btrfs -q disk");
    let file = fs::File::options().write(true).open(path).expect("opened");
    file.write_all_at(&4096_u64.to_le_bytes(), (64 << 10) + 0x60)
        .expect("written");
    let error = root(&workshop, "disk").expect_err("refused").to_string();
    assert!(
        error.contains("a btrfs with a journal to be replayed"),
        "{error}"
    );
}

#[test]
fn oracle_what_was_there_before_is_not_taken_for_the_filesystem() {
    let workshop = Workshop::new();
    workshop.sized("disk", 256 << 20);
    for (make, expected) in [
        ("mkfs.btrfs -q -f disk", Filesystem::Btrfs),
        ("mkswap -q disk", Filesystem::Ext4),
        ("mkfs.ext4 -q -F disk", Filesystem::Ext4),
        ("mkfs.btrfs -q -f disk", Filesystem::Btrfs),
        ("mkfs.ext4 -q -F disk", Filesystem::Ext4),
    ] {
        workshop.run(make);
        if !make.starts_with("mkswap") {
            assert_eq!(root(&workshop, "disk").expect("found"), expected, "{make}");
        }
    }
}

#[test]
fn a_filesystem_that_is_said_has_to_be_there() {
    let workshop = Workshop::new();
    workshop.sized("disk", 32 << 20);
    workshop.run("mkfs.ext4 -q disk");
    let image = workshop.open("disk").expect("opened");
    let choice = |filesystem| RootChoice {
        filesystem: Some(filesystem),
        partition: None,
    };
    find_root(&image, choice(Filesystem::Ext4)).expect("it is");
    let error = find_root(&image, choice(Filesystem::Xfs)).expect_err("refused");
    assert_eq!(error.to_string(), "the disk has ext4, not xfs");
}
