use std::fs;
use std::process::Command;

use crate::sample::{RECORD, archive, disk, images, read};

#[test]
fn a_disk_comes_back_byte_for_byte() {
    let empty = vec![0; 1 << 20];
    let full = vec![7; 1 << 20];
    let sectors = [vec![0; 4096], vec![1; 512]].concat();
    for disk in [disk(), empty, full, sectors] {
        let archive = archive(&disk);
        let back = read(&archive).expect("whole");
        assert_eq!(back.record, RECORD);
        assert!(back.disk == disk, "another disk");
        assert!(back.images == images(), "other images");
    }
}

#[test]
fn the_same_disk_gives_the_same_bytes_and_zeros_take_no_space() {
    assert_eq!(archive(&disk()), archive(&disk()));
    let small = archive(&vec![0; 1 << 20]).len();
    let large = archive(&vec![0; 64 << 20]).len();
    assert!(large <= small + 16, "{small} and {large} bytes");
}

#[test]
fn oracle_tar_and_zstd_read_an_archive() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("snapshot");
    fs::write(&path, archive(&disk())).expect("written");
    let status = Command::new("zstd").arg("-qt").arg(&path).status();
    assert!(status.expect("zstd is there").success());
    let status = Command::new("tar")
        .args(["--zstd", "-xf"])
        .arg(&path)
        .arg("-C")
        .arg(directory.path())
        .status();
    assert!(status.expect("tar is there").success());
    let extracted = |name| fs::read(directory.path().join(name)).expect("extracted");
    assert!(extracted("disk.img") == disk(), "another disk");
    assert_eq!(extracted("snapshot.json"), RECORD);
    assert_eq!(extracted("staged-1.erofs"), images()[1]);
    let checksums = String::from_utf8(extracted("checksums.json")).expect("text");
    for name in ["snapshot.json", "staged-0.erofs", "staged-1.erofs"] {
        let sum = Command::new("sha256sum")
            .arg(directory.path().join(name))
            .output()
            .expect("sha256sum is there");
        let sum = String::from_utf8(sum.stdout).expect("text");
        assert!(checksums.contains(&sum[..64]), "{name}: {checksums}");
    }
}
