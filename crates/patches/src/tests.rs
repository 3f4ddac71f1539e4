use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use fs_err as fs;
use fstree::{FileKind, Inode, InodeId, Metadata, Name, Tree};

use super::{HostCopy, NewContent, NewDirectory, NewFile, OwnMounts, PatchError, Patched, Patches};

fn add(tree: &mut Tree<NewFile>, parent: InodeId, name: &str, kind: FileKind<NewFile>) -> InodeId {
    let metadata = Metadata::with_mode(0o711);
    let id = tree.add(Inode { metadata, kind });
    tree.link(parent, Name::new(name.as_bytes()).expect("a name"), id);
    id
}

fn image() -> Tree<NewFile> {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let root = tree.root();
    let directory = || FileKind::Directory(fstree::Directory::new());
    let file = || FileKind::Regular(NewFile::Bytes(Vec::new()));
    let link = |target: &str| FileKind::Symlink(target.as_bytes().into());
    let usr = add(&mut tree, root, "usr", directory());
    let lib = add(&mut tree, usr, "lib", directory());
    add(&mut tree, lib, "f", file());
    add(&mut tree, root, "lib", link("usr/lib"));
    let etc = add(&mut tree, root, "etc", directory());
    add(&mut tree, etc, "hosts", file());
    add(&mut tree, etc, "out", link("../../../../lib/f"));
    add(&mut tree, etc, "dangling", link("/usr/new"));
    add(&mut tree, root, "proc", directory());
    add(&mut tree, root, "run", directory());
    let var = add(&mut tree, root, "var", directory());
    add(&mut tree, var, "run", link("/run"));
    tree
}

const MOUNTS: OwnMounts = OwnMounts {
    network: true,
    tmp: false,
};

fn patched(patches: &Patches) -> Result<Patched, PatchError> {
    Patched::new(image(), patches, MOUNTS, 1_700_000_000)
}

/// Lists the differences from the image: removed paths, and new ones with modes and owners.
fn differences(patched: &Patched) -> Vec<String> {
    let before = image();
    let paths = |tree: &Tree<NewFile>| -> Vec<String> {
        let paths = tree.walk().map(|entry| entry.path);
        paths
            .map(|path| String::from_utf8(path).expect("text"))
            .collect()
    };
    let gone = paths(&before).into_iter();
    let gone = gone.filter(|path| patched.tree.find(path.as_bytes()).is_none());
    let mut lines: Vec<String> = gone.map(|path| format!("-{path}")).collect();
    for path in paths(&patched.tree) {
        let id = patched.tree.find(path.as_bytes()).expect("walked");
        let inode = patched.tree.inode(id);
        let same =
            before.find(path.as_bytes()) == Some(id) && before.inode(id).metadata == inode.metadata;
        if !same {
            let Metadata { mode, uid, gid, .. } = inode.metadata;
            let letter = inode.kind.file_type().letter();
            lines.push(format!("+{path} {letter}{mode:o} {uid}:{gid}"));
        }
    }
    lines
}

fn copy(source: &Path, destination: &str) -> Patches {
    Patches {
        copy: vec![HostCopy {
            source: source.to_owned(),
            destination: destination.to_owned(),
            owner: (7, 8),
        }],
        ..Patches::default()
    }
}

fn make(path: &str, mode: Option<u16>) -> Patches {
    Patches {
        make: vec![NewDirectory {
            path: path.to_owned(),
            mode,
        }],
        ..Patches::default()
    }
}

fn remove(path: &str) -> Patches {
    Patches {
        remove: vec![path.to_owned()],
        ..Patches::default()
    }
}

fn write(path: &str) -> Patches {
    write_for((0, 0), path, 0o644)
}

fn write_for(owner: (u32, u32), path: &str, mode: u16) -> Patches {
    Patches {
        write: vec![NewContent {
            path: path.to_owned(),
            bytes: b"new".to_vec(),
            mode,
            owner,
        }],
        ..Patches::default()
    }
}

fn lines(patches: &Patches) -> Vec<String> {
    let patched = patched(patches).unwrap_or_else(|error| panic!("{error:?}"));
    differences(&patched)
}

#[test]
fn paths_go_through_the_images_links_and_not_out_of_it() {
    assert_eq!(lines(&remove("/lib/f")), ["-usr/lib/f"]);
    assert_eq!(lines(&remove("/lib/")), ["-lib"]);
    assert_eq!(lines(&remove("/etc/out")), ["-etc/out"]);
    assert_eq!(
        lines(&make("/lib/../../a/b", Some(0o1777))),
        ["+a d755 0:0", "+a/b d1777 0:0"]
    );
    assert_eq!(lines(&make("/lib", None)), [""; 0]);
    let host = tempfile::tempdir().expect("a directory");
    let file = host.path().join("x");
    fs::write(&file, "x").expect("written");
    fs::set_permissions(&file, std::fs::Permissions::from_mode(0o4640)).expect("changed");
    let cases = [
        ("/lib", "+usr/lib/x -4640 7:8"),
        ("/lib/y", "+usr/lib/y -4640 7:8"),
        ("/etc/out", "+usr/lib/f -4640 7:8"),
        ("/etc/dangling", "+usr/new -4640 7:8"),
    ];
    for (destination, expected) in cases {
        assert_eq!(
            lines(&copy(&file, destination)),
            [expected],
            "{destination}"
        );
    }
}

#[test]
fn trees_meet_what_is_there() {
    let host = tempfile::tempdir().expect("a directory");
    let tree = host.path().join("tree");
    fs::create_dir_all(tree.join("usr/lib")).expect("made");
    for directory in ["", "usr", "usr/lib"] {
        let mode = std::fs::Permissions::from_mode(0o750);
        fs::set_permissions(tree.join(directory), mode).expect("changed");
    }
    fs::write(tree.join("usr/lib/f"), "f").expect("written");
    fs::hard_link(tree.join("usr/lib/f"), tree.join("usr/g")).expect("linked");
    symlink("nowhere", tree.join("l")).expect("linked");
    let patched = patched(&copy(&tree.join("."), "/")).expect("patched");
    let found = differences(&patched);
    assert_eq!(
        found[..3],
        ["+ d750 7:8", "+l l777 7:8", "+usr d750 7:8"],
        "{found:?}"
    );
    assert_eq!(patched.tree.find(b"usr/g"), patched.tree.find(b"usr/lib/f"));
    assert_eq!(patched.needed_bytes, 4096);
    fs::remove_file(tree.join("l")).expect("removed");
    fs::write(tree.join("lib"), "no link").expect("written");
    fs::write(tree.join("etc"), "no directory").expect("written");
    let refused = super::Patched::new(image(), &copy(&tree.join("."), "/"), MOUNTS, 0);
    assert!(matches!(refused, Err(PatchError::Mismatch { .. })));
    fs::remove_file(tree.join("lib")).expect("removed");
    fs::remove_file(tree.join("etc")).expect("removed");
    fs::create_dir(tree.join("usr/lib/new")).expect("made");
    fs::create_dir(tree.join("usr/lib/new/er")).expect("made");
    fs::remove_file(tree.join("usr/lib/f")).expect("removed");
    fs::create_dir(tree.join("usr/lib/f")).expect("made");
    match super::Patched::new(image(), &copy(&tree.join("."), "/"), MOUNTS, 0) {
        Err(PatchError::Mismatch { path }) => assert_eq!(path, "/usr/lib/f"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_nobody_would_see_or_is_not_there_is_refused() {
    let host = tempfile::tempdir().expect("a directory");
    let file = host.path().join("hosts");
    fs::write(&file, "x").expect("written");
    let hidden = [
        copy(&file, "/run/msb"),
        copy(&file, "/proc/x"),
        copy(&file, "/etc/"),
        make("/run/msb/a", None),
        make("/var/run/msb", None),
        make("/dev", None),
        write("/sys/a"),
        remove("/run/msb"),
        remove("/etc/hosts"),
    ];
    for patches in hidden {
        let refused = patched(&patches);
        assert!(
            matches!(refused, Err(PatchError::Hidden { .. })),
            "{patches:?}: {refused:?}"
        );
    }
    let wrong = [
        remove("/none"),
        remove("/"),
        remove(""),
        remove("/none/x"),
        make("/usr/lib/f", None),
        make("/etc/dangling", None),
        copy(&file, "/none/x"),
        copy(&file, "/usr/none/"),
        copy(host.path(), "/usr/lib/f"),
        copy(&host.path().join("none"), "/x"),
    ];
    for patches in wrong {
        assert!(patched(&patches).is_err(), "{patches:?}");
    }
}

#[test]
fn a_file_that_changed_is_not_copied() {
    use ext4_writer::FileContent as _;
    let host = tempfile::tempdir().expect("a directory");
    let path = host.path().join("tree/x");
    fs::create_dir(host.path().join("tree")).expect("made");
    fs::write(&path, "x").expect("written");
    let patched = patched(&copy(&path, "/usr/x")).expect("patched");
    let id = patched.tree.find(b"usr/x").expect("copied");
    let FileKind::Regular(file) = &patched.tree.inode(id).kind else {
        panic!("no file");
    };
    assert!(file.open().is_ok());
    // A symlink in the path leads to another file of the same length.
    fs::create_dir(host.path().join("secret")).expect("made");
    fs::write(host.path().join("secret/x"), "y").expect("written");
    fs::rename(host.path().join("tree"), host.path().join("moved")).expect("renamed");
    symlink("secret", host.path().join("tree")).expect("linked");
    assert!(file.open().is_err());
    fs::remove_file(host.path().join("tree")).expect("removed");
    fs::rename(host.path().join("moved"), host.path().join("tree")).expect("renamed");
    assert!(file.open().is_ok());
    fs::write(&path, "longer").expect("written");
    assert!(file.open().is_err());
}

#[test]
fn run_and_tmp_are_directories_as_others_are() {
    let host = tempfile::tempdir().expect("a directory");
    let file = host.path().join("f");
    fs::write(&file, "x").expect("written");
    fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("readable");
    assert_eq!(lines(&copy(&file, "/var/run/")), ["+run/f -644 7:8"]);
    assert_eq!(lines(&remove("/run")), ["-run"]);
    let made = make("/tmp/app", None);
    assert_eq!(lines(&made), ["+tmp d755 0:0", "+tmp/app d755 0:0"]);
    let in_memory = OwnMounts {
        tmp: true,
        ..MOUNTS
    };
    let refused = Patched::new(image(), &made, in_memory, 0);
    assert!(
        matches!(refused, Err(PatchError::Hidden { .. })),
        "{refused:?}"
    );
}

#[test]
fn files_are_written_with_the_directories_that_lead_to_them() {
    assert_eq!(
        lines(&write("/etc/own/file")),
        ["+etc/own d755 0:0", "+etc/own/file -644 0:0"]
    );
    assert_eq!(lines(&write("/lib/f")), ["+usr/lib/f -644 0:0"]);
    assert_eq!(
        lines(&write_for((7, 8), "/lib/own/file", 0o600)),
        ["+usr/lib/own d755 7:8", "+usr/lib/own/file -600 7:8"]
    );
    let written = patched(&write("/lib/f")).expect("written");
    let id = written.tree.find(b"usr/lib/f").expect("there");
    let expected = FileKind::Regular(NewFile::Bytes(b"new".to_vec()));
    assert_eq!(written.tree.inode(id).kind, expected);
    assert_eq!(written.needed_bytes, 3);
    for (path, error) in [
        ("/usr", "Mismatch"),
        ("/run/msb/x", "Hidden"),
        ("/", "NoName"),
    ] {
        let refused = patched(&write(path)).expect_err(path);
        assert!(format!("{refused:?}").starts_with(error), "{refused:?}");
    }
}
