//! fsck.erofs finds no errors.

use std::fs;
use std::process::Command;

use fstree::Tree;

use crate::model::{Built, Content};
use crate::samples;

/// Runs fsck.erofs, which reads every file. It reads chunks from the given devices, and whole files
/// from behind the image.
pub(crate) fn check(tree: &Tree<Content>, devices: u16) {
    let built = Built::write(tree.clone(), devices);
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("image");
    fs::write(&image, built.flat()).unwrap();
    let mut command = Command::new("fsck.erofs");
    for (number, bytes) in built.devices.iter().enumerate() {
        let device = directory.path().join(format!("device-{number}"));
        fs::write(&device, bytes).unwrap();
        command.arg(format!("--device={}", device.display()));
    }
    let output = command
        .args(["-d3", "--extract"])
        .arg(&image)
        .output()
        .expect("these tests need fsck.erofs from erofs-utils");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("No errors found"), "{text}");
    assert!(!text.contains("<E>"), "{text}");
}

#[test]
fn oracle_fsck_one_of_each() {
    check(&samples::one_of_each(), 0);
}

#[test]
fn oracle_fsck_extremes() {
    check(&samples::extremes(), 0);
}

#[test]
fn oracle_fsck_on_devices() {
    check(&samples::on_devices(), 3);
}
