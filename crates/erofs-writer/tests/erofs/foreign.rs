//! Images that mkfs.erofs made.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use erofs_writer::{Image, ReadError, Unsupported};
use fstree::FileKind;

fn make(options: &[&str]) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("empty"), b"").unwrap();
    fs::write(root.join("large"), [b'l'; 50_000]).unwrap();
    fs::hard_link(root.join("large"), root.join("again")).unwrap();
    symlink("large", root.join("link")).unwrap();
    for number in 0..500 {
        fs::create_dir(root.join(format!("directory-{number}"))).unwrap();
    }
    let file = directory.path().join("image");
    let output = Command::new("mkfs.erofs")
        .args(options)
        .args([&file, &root])
        .output()
        .expect("these tests need mkfs.erofs from erofs-utils");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    fs::read(file).unwrap()
}

fn check(options: &[&str]) {
    let bytes = make(options);
    let image = Image::open(bytes).unwrap();
    let tree = image.read_tree().unwrap();
    let links = tree.link_counts();
    assert_eq!(links[tree.root().index()], 502);
    let large = tree.find(b"large").unwrap();
    assert_eq!(tree.find(b"again"), Some(large));
    let FileKind::Regular(data) = &tree.inode(large).kind else {
        panic!("a regular file")
    };
    let mut content = Vec::new();
    image.copy_file(data, &[], &mut content).unwrap();
    assert!(content == [b'l'; 50_000]);
    let link = tree.find(b"link").unwrap();
    assert_eq!(tree.inode(link).kind, FileKind::Symlink((*b"large").into()));
    let report = image.verify().unwrap();
    assert_eq!(report.directories, 501);
    image.dump(&mut String::new()).unwrap();
}

#[test]
fn oracle_mkfs_plain() {
    check(&["-Enoinline_data"]);
    check(&["-Enoinline_data,force-inode-compact", "-T0"]);
    check(&["-Enoinline_data,force-inode-extended"]);
}

#[test]
fn oracle_mkfs_chunks() {
    check(&["--chunksize=4096"]);
    check(&["--chunksize=16384", "-Eforce-chunk-indexes"]);
}

#[test]
fn oracle_mkfs_inline_files_are_not_supported() {
    let image = Image::open(make(&[])).unwrap();
    let error = image.read_tree().unwrap_err();
    assert!(matches!(
        error,
        ReadError::Unsupported(Unsupported::InlineFile { .. })
    ));
}
