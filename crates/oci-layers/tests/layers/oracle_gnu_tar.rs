//! Sparse files that GNU tar has written.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::process::Command;

use fstree::FileKind;

use crate::fixture::{bytes_of, message, read};

const FORMATS: [&[&str]; 4] = [
    &["--format=gnu"],
    &["--format=pax", "--sparse-version=0.0"],
    &["--format=pax", "--sparse-version=0.1"],
    &["--format=pax", "--sparse-version=1.0"],
];

#[test]
fn oracle_gnu_tar_sparse_files_come_out_whole() {
    let scratch = tempfile::tempdir().expect("there is room");
    let path = scratch.path().join("sparse");
    let file = File::create(&path).expect("made");
    // The file has more pieces than a header and one extension block hold.
    for piece in 0..40_u64 {
        file.write_all_at(&[b'x'; 100], piece * 65_536)
            .expect("written");
    }
    file.set_len(40 * 65_536 + 5).expect("grown");
    let expected = fs::read(&path).expect("read");
    for format in FORMATS {
        let output = Command::new("tar")
            .args(["--create", "--sparse", "--hole-detection=raw"])
            .args(format)
            .arg("--directory")
            .arg(scratch.path())
            .arg("sparse")
            .output()
            .expect("GNU tar is installed");
        assert!(output.status.success(), "{format:?}");
        assert!(
            output.stdout.len() < 400_000,
            "{format:?}: tar saw no holes"
        );
        let (layer, sink) =
            read(&output.stdout).unwrap_or_else(|error| panic!("{format:?}: {}", message(&error)));
        let id = layer.tree.find(b"sparse").expect("it is there");
        let FileKind::Regular(data) = &layer.tree.inode(id).kind else {
            panic!("{format:?}: it is a regular file");
        };
        assert!(bytes_of(data, |_| &sink) == expected, "{format:?}");
        assert_eq!(data.extents.len(), 40, "{format:?}");
    }
}
