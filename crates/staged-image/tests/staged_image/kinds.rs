//! Unreadable files, special files, and names of any bytes.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use diagnosis::Diagnose as _;
use fstree::{FileData, FileKind, Tree};
use path_rules::{Rule, Rules};
use rustix::fs::{CWD, FileType, Mode, Uid, makedev, mknodat};
use staged_image::{StageError, StoreError};

use super::{Host, names, rules, tree};

/// The user who stages directories of root, if root runs the tests.
const USER: u32 = 12_345;

/// Runs a function as a user whom the permissions of files restrict.
fn as_user<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let as_user = || {
        // This thread alone becomes another user.
        if rustix::process::geteuid().is_root() {
            let user = Uid::from_raw(USER);
            rustix::thread::set_thread_res_uid(user, user, user).expect("root may");
        }
        work()
    };
    std::thread::scope(|scope| scope.spawn(as_user).join().expect("it ends"))
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
}

#[test]
fn an_unreadable_file_is_refused_by_name_unless_a_rule_keeps_it_out() {
    let host = Host::new();
    for name in ["closed", "open", "sealed/inner"] {
        host.write(name, "the-secret");
    }
    let project = host.project();
    set_mode(host.root.path(), 0o777);
    for name in ["closed", "sealed"] {
        set_mode(&project.join(name), 0);
    }
    let none: [&str; 0] = [];
    for (index, (given, unreadable)) in [
        (&none[..], Some("sealed")),
        (&["sealed=hide"], Some("closed")),
        (&["closed=hide"], Some("sealed")),
        (&["sealed=hide", "closed=hide"], None),
        (&["sealed=deny", "closed=deny"], None),
    ]
    .into_iter()
    .enumerate()
    {
        let rules = rules(given);
        let staged = as_user(|| host.stage(&format!("image-{index}"), &rules));
        match (staged, unreadable) {
            (Ok((image, _)), None) => {
                let names = names(&tree(&image));
                assert!(names.contains(&"0/open".to_owned()), "{names:?}");
                assert!(!names.iter().any(|name| name.ends_with("inner")));
            }
            (Err(error), Some(name)) => {
                let StoreError::Stage(StageError::Host { path, source, .. }) = &error else {
                    panic!("{given:?}: {error:?}");
                };
                assert_eq!(*path, project.join(name), "{given:?}");
                assert_eq!(source.kind(), ErrorKind::PermissionDenied);
                let advice = error.diagnosis().advice().expect("a hint");
                assert!(advice.contains("--rule PATH=hide"), "{advice}");
            }
            (staged, _) => panic!("{given:?}: {staged:?}"),
        }
    }
    // Of the refused ones nothing is left.
    let images = fs::read_dir(host.root.path().join("staged"));
    assert_eq!(images.expect("made").count(), 2);
    // Whoever is not root cannot remove it otherwise.
    set_mode(&project.join("sealed"), 0o755);
}

#[test]
fn a_fifo_is_kept_and_sockets_and_devices_are_left_out() {
    let host = Host::new();
    host.write("file", "1");
    let project = host.project();
    for (name, kind, device) in [
        ("fifo", FileType::Fifo, 0),
        ("null", FileType::CharacterDevice, makedev(1, 3)),
        ("disk", FileType::BlockDevice, makedev(7, 0)),
    ] {
        let path = project.join(name);
        mknodat(CWD, &path, kind, Mode::RUSR | Mode::WUSR, device).expect("made, as root");
        set_mode(&path, 0o640);
    }
    let _listener = UnixListener::bind(project.join("socket")).expect("bound");
    let (image, notices) = host.stage("a", &Rules::new()).expect("staged");
    assert_eq!(notices.special, [&b"disk"[..], b"null", b"socket"]);
    let tree = tree(&image);
    assert_eq!(names(&tree), ["", "0", "0/fifo", "0/file"]);
    let fifo = tree.inode(tree.find(b"0/fifo").expect("there"));
    assert!(matches!(fifo.kind, FileKind::Fifo), "{:?}", fifo.kind);
    assert_eq!(fifo.metadata.mode, 0o640);
    // Nobody waits for one that is hidden, either.
    let (image, notices) = host.stage("b", &rules(&["fifo=hide"])).expect("staged");
    assert_eq!(notices.special.len(), 3);
    assert_eq!(names(&super::tree(&image)), ["", "0", "0/file"]);
}

#[test]
fn names_and_targets_of_any_bytes_are_kept() {
    let host = Host::new();
    let project = host.project();
    let long = [0xe9; 255];
    let all = [
        &b" "[..],
        b"\x01\x7f",
        b"-rf",
        b"caf\xe9",
        b"d\xe9/\xff\xfe",
        b"new\nline",
        b"\xc3\xa9",
        b"\\x41\"'",
        &long,
    ];
    for name in all {
        let path = project.join(OsStr::from_bytes(name));
        fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        fs::write(path, name).expect("written");
    }
    let target = OsStr::from_bytes(b"caf\xe9");
    symlink(target, project.join("link")).expect("made");
    let below = |name: &[u8]| [b"0/", name].concat();
    let (image, _) = host.stage("a", &Rules::new()).expect("staged");
    let found: Tree<FileData> = tree(&image);
    // The root, the source, the directory and the link are four more.
    assert_eq!(found.walk().count(), all.len() + 4);
    let opened = super::open(&image);
    let files = opened.files().expect("files");
    for name in all {
        assert_eq!(files.read(below(name)).expect("read"), name, "{name:?}");
    }
    let link = found.inode(found.find(b"0/link").expect("there"));
    assert!(matches!(&link.kind, FileKind::Symlink(target) if **target == *b"caf\xe9"));
    // A rule has such a name, too.
    let mut rules = Rules::new();
    for rule in [&b"caf\xe9=hide"[..], b"d\xe9=hide"] {
        rules
            .push(Rule::parse(rule).expect("a rule"))
            .expect("room");
    }
    let (image, _) = host.stage("b", &rules).expect("staged");
    let found = tree(&image);
    for name in all {
        let is_hidden = name.starts_with(b"caf") || name.starts_with(b"d");
        let is_there = found.find(&below(name)).is_some();
        assert_eq!(is_there, !is_hidden, "{name:?}");
    }
}
