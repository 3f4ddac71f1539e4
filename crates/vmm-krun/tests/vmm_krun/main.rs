//! Checks that the lock file has versions with which libkrun reads disks correctly.

use std::path::Path;

/// The first imago that reads VMDK extents correctly. Before 0.2.4 it returned wrong data at the
/// end of an extent, and before 0.2.6 it took an extent's offset for bytes.
const FIRST_RIGHT_IMAGO: [u64; 3] = [0, 2, 6];

#[test]
fn every_locked_imago_reads_vmdk_extents_right() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let lock = std::fs::read_to_string(path).expect("the workspace has a lock file");
    let versions = locked_versions(&lock, "imago");
    assert!(!versions.is_empty(), "no imago in the lock file");
    for version in versions {
        assert!(
            numbers(version) >= FIRST_RIGHT_IMAGO,
            "imago {version} is locked"
        );
    }
}

#[test]
fn versions_compare_as_numbers() {
    let lock = "[[package]]\nname = \"imago\"\nversion = \"0.2.10\"\n";
    assert_eq!(locked_versions(lock, "imago"), ["0.2.10"]);
    assert!(numbers("0.2.10") >= FIRST_RIGHT_IMAGO);
    assert!(numbers("0.2.5") < FIRST_RIGHT_IMAGO);
}

/// Returns the versions of `package` in a lock file.
fn locked_versions<'lock>(lock: &'lock str, package: &str) -> Vec<&'lock str> {
    let start = format!("name = \"{package}\"\nversion = \"");
    let rests = lock.split(start.as_str()).skip(1);
    rests.filter_map(|rest| rest.split('"').next()).collect()
}

fn numbers(version: &str) -> [u64; 3] {
    let mut numbers = version
        .split('.')
        .map(|number| number.parse().expect("a number"));
    [(); 3].map(|()| numbers.next().expect("three numbers"))
}
