//! The examples, run on files of a directory.

use std::ffi::OsString;
use std::fs;

#[path = "../../examples/create.rs"]
#[expect(dead_code, reason = "main is the example's own")]
mod create;
#[path = "../../examples/show.rs"]
#[expect(dead_code, reason = "main is the example's own")]
mod show;

#[test]
fn files_become_a_disk_that_is_shown() {
    let work = tempfile::tempdir().unwrap();
    let path = |name: &str| OsString::from(work.path().join(name));
    fs::write(path("a"), [0; 4096]).unwrap();
    fs::write(path("b"), [0; 512]).unwrap();
    let mut out = Vec::new();
    create::run(&[path("disk.vmdk"), path("a"), path("b")], &mut out).unwrap();
    assert_eq!(out, b"9 sectors\n");
    let mut out = Vec::new();
    show::run(&[path("disk.vmdk")], &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "0 8 a\n8 1 b\n");
    fs::write(path("odd"), [0; 100]).unwrap();
    let error = create::run(&[path("disk.vmdk"), path("odd")], &mut Vec::new());
    assert!(error.unwrap_err().to_string().ends_with("is not whole sectors long"));
}
