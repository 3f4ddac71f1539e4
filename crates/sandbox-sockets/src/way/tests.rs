use std::os::unix::fs::symlink;

use super::*;

#[test]
fn symlinks_are_followed_once_and_noted() {
    let scratch = tempfile::tempdir().expect("a directory");
    let root = fs::canonicalize(scratch.path()).expect("a path");
    let [files, links] = ["files", "links"].map(|name| root.join(name));
    for directory in [&files, &links] {
        fs::create_dir(directory).expect("made");
    }
    fs::write(files.join("a"), "").expect("written");
    symlink("../files/./a", links.join("relative")).expect("linked");
    symlink(links.join("relative"), root.join("absolute")).expect("linked");
    let way = Way::follow(&root.join("absolute")).expect("followed");
    assert_eq!(way.real(), files.join("a"));
    assert_eq!(way.with_links, [root.clone(), links.clone()]);
    for directory in [&root, &links, &files] {
        assert!(way.directories.contains(directory), "{directory:?}");
    }
    let plain = Way::follow(&links.join("../files/a")).expect("followed");
    assert!(plain.with_links.is_empty() && plain.directories.contains(&links));
}

#[test]
fn ways_without_an_end_are_errors() {
    let scratch = tempfile::tempdir().expect("a directory");
    let root = scratch.path();
    symlink("loop", root.join("loop")).expect("linked");
    fs::write(root.join("file"), "").expect("written");
    for (path, errno) in [
        (root.join("loop"), Errno::LOOP),
        (root.join("missing"), Errno::NOENT),
        (root.join("file/a"), Errno::NOTDIR),
        (root.to_owned(), Errno::ISDIR),
    ] {
        let error = Way::follow(&path).expect_err("no way");
        assert_eq!(Errno::from_io_error(&error), Some(errno), "{path:?}");
    }
}
