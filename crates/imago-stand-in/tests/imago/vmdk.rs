//! VMDKs: their flat extents, one after the other.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use vmdk::{Descriptor, FlatExtent};

use crate::as_libkrun::Disk;

/// Writes a descriptor and its files. Returns the path and the content of the disk.
fn written(directory: &Path, sectors: &[u64]) -> (PathBuf, Vec<u8>) {
    let mut content = Vec::new();
    let mut extents = Vec::new();
    for (index, sectors) in sectors.iter().copied().enumerate() {
        let file_name = format!("{index}.erofs");
        let byte = |at| (at * 7 + index as u64 * 31) as u8;
        let mut bytes: Vec<u8> = (0..sectors * 512).map(byte).collect();
        content.extend_from_slice(&bytes);
        // A file may be longer than its extent.
        bytes.extend([0xee; 100]);
        fs::write(directory.join(&file_name), bytes).unwrap();
        extents.push(FlatExtent { sectors, file_name });
    }
    let path = directory.join("image.vmdk");
    fs::write(&path, Descriptor::new(1, extents).unwrap().render()).unwrap();
    (path, content)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn each_range_is_that_of_the_extents(
        sectors in prop::collection::vec(1..30_u64, 1..8),
        reads in prop::collection::vec((0..240_usize, 0..20_usize, 1..3000_usize), 1..20),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let (path, content) = written(directory.path(), &sectors);
        let disk = Disk::vmdk(&path).unwrap();
        prop_assert_eq!(disk.size_bytes(), content.len() as u64);
        for (start, count, buffer) in reads {
            let (start, length) = (start * 512, count * 512);
            let mut lengths = vec![buffer; length / buffer];
            lengths.push(length % buffer);
            let read = disk.read(&lengths, start as u64).ok();
            prop_assert_eq!(read.as_deref(), content.get(start..start + length));
        }
        prop_assert!(disk.write(&[512], &[0; 512], 0).is_err());
    }
}

#[test]
fn oracle_qemu_img_reads_the_same_disk() {
    let directory = tempfile::tempdir().unwrap();
    let (path, _) = written(directory.path(), &[8, 1, 24, 3]);
    let raw = directory.path().join("raw");
    let mut convert = Command::new("qemu-img");
    convert
        .args(["convert", "-f", "vmdk", "-O", "raw"])
        .arg(&path)
        .arg(&raw);
    assert!(convert.status().unwrap().success());
    let disk = Disk::vmdk(&path).unwrap();
    let length = disk.size_bytes() as usize;
    assert!(disk.read(&[length], 0).unwrap() == fs::read(&raw).unwrap());
}

#[test]
fn a_file_that_is_shorter_than_its_extent_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (path, _) = written(directory.path(), &[8, 8]);
    let short = directory.path().join("1.erofs");
    fs::write(&short, [0; 100]).unwrap();
    let error = Disk::vmdk(&path).err().unwrap().to_string();
    let expected = format!(
        "the extent {}: it has 100 bytes, 4096 are expected",
        short.display()
    );
    assert_eq!(error, expected);
    fs::remove_file(&short).unwrap();
    let error = Disk::vmdk(&path).err().unwrap().to_string();
    assert!(
        error.starts_with(&format!("the extent {}: ", short.display())),
        "{error}"
    );
}

#[test]
fn what_is_no_descriptor_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image.vmdk");
    for text in ["", "RW 1 FLAT \"/etc/shadow\" 0\n", "\u{0}\u{0}KDMV"] {
        fs::write(&path, text).unwrap();
        assert!(Disk::vmdk(&path).is_err(), "{text}");
    }
    let endless = fs::File::create(&path).unwrap();
    endless.set_len(1 << 40).unwrap();
    assert!(Disk::vmdk(&path).is_err());
}

#[test]
fn qcow2_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("disk");
    fs::write(&path, "QFI\u{fb}").unwrap();
    let error = Disk::qcow2(&path).err().unwrap();
    assert_eq!(error.to_string(), "qcow2 disks are not supported");
}
