//! Formats that no machine of msb has.

use std::fs;

use crate::as_libkrun::Disk;

#[test]
fn other_formats_than_raw_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("disk");
    fs::write(&path, "# Disk DescriptorFile\nRW 1 FLAT \"disk\" 0\n").unwrap();
    let error = Disk::vmdk(&path).err().unwrap();
    assert_eq!(error.to_string(), "VMDK disks are not supported");
    fs::write(&path, "QFI\u{fb}").unwrap();
    let error = Disk::qcow2(&path).err().unwrap();
    assert_eq!(error.to_string(), "qcow2 disks are not supported");
}
