//! A directory with one of everything. If a test does not run as root, entries that need root are
//! omitted.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, XattrFlags};

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn one_of_each(root: &Path) {
    fs::create_dir_all(root.join("sub/empty")).expect("made");
    fs::write(root.join("sub/file"), vec![7; 70_000]).expect("written");
    fs::write(root.join("nothing"), "").expect("written");
    fs::hard_link(root.join("sub/file"), root.join("again")).expect("linked");
    fs::write(root.join("exact"), vec![b'x'; 1024]).expect("written");
    fs::write(root.join(OsStr::from_bytes(b"not \xff\xfe UTF-8")), "bytes").expect("written");
    let long = root.join("n".repeat(250)).join("m".repeat(250));
    fs::create_dir_all(&long).expect("made");
    fs::write(long.join("deep"), "deep").expect("written");
    symlink("sub/file", root.join("link")).expect("linked");
    symlink("t".repeat(300), root.join("long link")).expect("linked");
    sparse(&root.join("sparse"), 40);
    sparse(&root.join("many holes"), 20_000);
    File::create(root.join("one hole"))
        .and_then(|file| file.set_len(10 << 20))
        .expect("made");
    let user = root.join("xattrs");
    fs::write(&user, "x").expect("written");
    let _ = rustix::fs::setxattr(&user, "user.note", b"\0=\n", XattrFlags::empty());
    node(root, "pipe", FileType::Fifo, 0);
    if is_root() {
        node(
            root,
            "null",
            FileType::CharacterDevice,
            rustix::fs::makedev(1, 3),
        );
        std::os::unix::fs::chown(&user, Some(3_000_000_000), Some(7)).expect("given away");
        std::os::unix::fs::lchown(root.join("link"), Some(5), Some(6)).expect("given away");
    }
    fs::set_permissions(root.join("exact"), Permissions::from_mode(0o4711)).expect("set");
    fs::set_permissions(root.join("sub"), Permissions::from_mode(0o2570)).expect("set");
    for (name, seconds) in [
        ("sub", -1),
        ("exact", 1),
        ("link", 1 << 33),
        ("nothing", -5),
    ] {
        let time = Timespec {
            tv_sec: seconds,
            tv_nsec: 123_456_789,
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        let path = root.join(name);
        rustix::fs::utimensat(CWD, &path, &times, AtFlags::SYMLINK_NOFOLLOW).expect("set");
    }
}

fn node(root: &Path, name: &str, file_type: FileType, device: u64) {
    let path = root.join(name);
    rustix::fs::mknodat(CWD, &path, file_type, Mode::from_raw_mode(0o640), device).expect("made");
}

/// Writes blocks of data with holes of the same size between them and at the end.
fn sparse(path: &Path, blocks: u64) {
    let file = File::create(path).expect("made");
    for index in 0..blocks {
        file.write_all_at(&[9; 100], index * 8192).expect("written");
    }
    file.set_len(blocks * 8192 + 5000).expect("made longer");
}

pub(crate) fn allocated_bytes(path: &Path) -> u64 {
    fs::metadata(path).expect("there").blocks() * 512
}
