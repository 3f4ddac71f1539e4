//! A directory and a tree of the same files have the same dump.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use fstree::{FileKind, Inode, Metadata, Name, Timestamp, Tree};
use rustix::fs::{XattrFlags, setxattr};
use testkit::{Content, TreeDump};

fn owned(mode: u16, mtime: Timestamp) -> Metadata {
    Metadata {
        uid: rustix::process::getuid().as_raw(),
        gid: rustix::process::getgid().as_raw(),
        mtime,
        ..Metadata::with_mode(mode)
    }
}

fn tree() -> Tree<&'static [u8]> {
    let when = Timestamp {
        seconds: -2,
        nanoseconds: 500_000_000,
    };
    let mut tree = Tree::new(owned(0o755, when));
    let root = tree.root();
    let mut metadata = owned(0o4711, when);
    metadata.xattrs.insert(b"user.a", b"\0b");
    let file = tree.add(Inode {
        metadata,
        kind: FileKind::Regular(b"content".as_slice()),
    });
    let directory = tree.add(Inode::directory(owned(0o700, when)));
    let name = |name: &str| Name::new(name.as_bytes()).expect("valid");
    tree.link(root, name("a b"), file);
    tree.link(root, name("d"), directory);
    tree.link(directory, name("c"), file);
    tree
}

#[test]
fn a_directory_and_a_tree_of_the_same_files_have_the_same_dump() {
    let scratch = tempfile::tempdir().expect("there is room");
    let root = scratch.path();
    let (file, directory) = (root.join("a b"), root.join("d"));
    fs::create_dir(&directory).expect("made");
    fs::write(&file, "content").expect("written");
    fs::hard_link(&file, directory.join("c")).expect("linked");
    fs::create_dir(root.join("lost+found")).expect("made");
    setxattr(&file, "user.a", b"\0b", XattrFlags::empty()).expect("this file system has xattrs");
    let time = SystemTime::UNIX_EPOCH - Duration::from_millis(1_500);
    for (path, mode) in [
        (&file, 0o4711),
        (&directory, 0o700),
        (&root.to_owned(), 0o755),
    ] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
        let open = fs::File::open(path).expect("opened");
        open.set_modified(time).expect("set");
    }

    let theirs = TreeDump::from_directory(root).expect("readable");
    let ours = TreeDump::from_tree(&tree(), |bytes| Content::read(*bytes)).expect("in memory");
    assert_eq!(ours.to_string(), theirs.to_string());
    let lines: Vec<_> = theirs.to_string().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[1].starts_with("/a\\x20b - 4711 "), "{}", lines[1]);
    assert!(
        lines[1].contains(" 7 -2.500000000 - - /a\\x20b user.a=0062 ed7002b4"),
        "{}",
        lines[1]
    );

    symlink("nowhere", root.join("s")).expect("linked");
    let more = TreeDump::from_directory(root).expect("readable");
    let new: Vec<_> = theirs
        .differences(&more)
        .into_iter()
        .filter(|line| line.contains("/s "))
        .collect();
    assert!(
        new.len() == 1 && new[0].starts_with("+ /s l 0777 "),
        "{new:?}"
    );
}

#[test]
fn an_error_names_the_path() {
    let error =
        TreeDump::from_directory("/nonexistent/directory".as_ref()).expect_err("it is not there");
    assert!(
        error
            .to_string()
            .starts_with("\"/nonexistent/directory\": "),
        "{error}"
    );
    let empty: Tree<()> = Tree::new(Metadata::with_mode(0o755));
    let dump = TreeDump::from_tree(&empty, |()| Content::read(&b""[..]));
    assert_eq!(
        dump.expect("in memory").to_string(),
        "/ d 0755 0:0 - 0.000000000 - - - - -\n"
    );
}
