//! Checks that libkrun is built with the disks of this workspace.

use std::path::Path;

#[test]
fn libkrun_has_no_imago_but_that_of_the_workspace() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let lock = std::fs::read_to_string(path).expect("the workspace has a lock file");
    // With another one beside it, libkrun would find no registered disk, and nothing else would tell.
    assert_eq!(sources(&lock, "imago"), [None]);
}

#[test]
fn a_package_of_a_registry_has_a_source() {
    let lock = "[[package]]\nname = \"imago\"\nversion = \"0.2.99\"\n\n\
        [[package]]\nname = \"imago\"\nversion = \"0.2.6\"\nsource = \"registry\"\n";
    assert_eq!(
        sources(lock, "imago"),
        [None, Some("source = \"registry\"")]
    );
}

/// Returns the line of each version of `package` that says where it is from; `None` for one of the
/// workspace.
fn sources<'lock>(lock: &'lock str, package: &str) -> Vec<Option<&'lock str>> {
    let name = format!("name = \"{package}\"");
    let packages = lock.split("[[package]]");
    let named = packages.filter(|text| text.lines().any(|line| line == name));
    named
        .map(|text| text.lines().find(|line| line.starts_with("source = ")))
        .collect()
}
