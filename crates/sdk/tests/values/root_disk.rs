//! Disks of a root filesystem, as they are written.

use msb_sdk::RootDisk;

#[test]
fn a_file_is_followed_by_what_is_known_of_it() {
    let disk: RootDisk = "a:b.img:format=qcow2,fstype=xfs,partition=3"
        .parse()
        .expect("read");
    let found = (disk.path.to_str(), disk.partition);
    assert_eq!(found, (Some("a:b.img"), Some(3)));
    let found = format!("{:?} {:?}", disk.format, disk.filesystem);
    assert_eq!(found, "Some(Qcow2) Some(Xfs)");
    for path in ["disk.img", "./a:b", "/srv/12:30:00"] {
        let disk: RootDisk = path.parse().expect("a path");
        assert_eq!(disk, RootDisk::new(path));
    }
}

#[test]
fn other_settings_are_refused_with_those_that_are_known() {
    for (text, expected) in [
        ("", "it does not name a file"),
        (":format=raw", "it does not name a file"),
        ("a:format=vhd", "write raw, qcow2 or vmdk"),
        ("a:fstype=ntfs", "write ext4, xfs, btrfs or erofs"),
        ("a:partition=0", "write a number from 1 on"),
        (
            "a:format=raw,size=3",
            "write format=, fstype= or partition=",
        ),
    ] {
        let error = text.parse::<RootDisk>().expect_err("refused");
        assert!(
            error.message().contains(expected),
            "{text}: {}",
            error.message()
        );
    }
}
