//! GNU tar reads the archives of this crate, and this crate those of GNU tar.

use std::process::Command;

use testkit::TreeDump;

use crate::sample::{allocated_bytes, is_root, one_of_each};
use crate::{packed, trusting, unpacked};

fn tar(arguments: &[&str], archive: &std::path::Path, directory: &std::path::Path) {
    let output = Command::new("tar")
        .args(arguments)
        .arg("-f")
        .arg(archive)
        .arg("-C")
        .arg(directory)
        .arg(if arguments[0] == "-c" { "." } else { "--" })
        .output()
        .expect("tar runs");
    let cried = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{cried}");
}

#[test]
fn oracle_gnu_tar_agrees_both_ways() {
    if !is_root() {
        return;
    }
    let entry = || tempfile::tempdir().expect("made");
    let (from, theirs, ours, work) = (entry(), entry(), entry(), entry());
    one_of_each(from.path());
    let expected = TreeDump::from_directory(from.path()).expect("readable");
    let agree = |directory: &std::path::Path| {
        let dump = TreeDump::from_directory(directory).expect("readable");
        let differences = expected.differences(&dump);
        assert!(differences.is_empty(), "{differences:#?}");
        assert!(allocated_bytes(&directory.join("sparse")) < 200 << 10);
    };
    let archive = work.path().join("ours.tar");
    std::fs::write(&archive, packed(from.path(), b".", b".")).expect("written");
    let extract = [
        "-x",
        "--xattrs",
        "--xattrs-include=*",
        "--numeric-owner",
        "-p",
    ];
    tar(&extract, &archive, theirs.path());
    agree(theirs.path());

    let archive = work.path().join("theirs.tar");
    let create = ["-c", "-S", "--xattrs", "--format=posix", "--numeric-owner"];
    tar(&create, &archive, from.path());
    let bytes = std::fs::read(&archive).expect("read");
    unpacked(&bytes, ours.path(), &trusting()).expect("unpacked");
    agree(ours.path());
}
