//! A directory with everything that mkfs.erofs can put into an image.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt, lchown, symlink};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, Timespec, Timestamps, XattrFlags, lsetxattr, makedev, mknodat,
    utimensat,
};

use crate::samples::{ACL, CAPABILITY};

/// Fills an empty directory with all kinds of files.
pub(crate) fn fill(root: &Path) {
    sizes(&root.join("sizes"));
    special(&root.join("special"));
    names(&root.join("names"));
    xattrs(&root.join("xattrs"));
    owners(&root.join("owners"));
    for (number, seconds) in [0, 1, 1_700_000_000, 5_000_000_000].into_iter().enumerate() {
        let path = root.join(format!("time-{number}"));
        fs::write(&path, b"at a time").unwrap();
        touch(&path, seconds, 123_456_789);
    }
    touch(root, 1_600_000_000, 5);
}

/// Fills a directory with fewer files, of every kind that a reader meets.
pub(crate) fn fill_small(root: &Path) {
    special(&root.join("special"));
    xattrs(&root.join("xattrs"));
    for length in [0, 1, 3000, 4096, 5000, 20_000] {
        fs::write(root.join(format!("{length}")), vec![b'c'; length]).unwrap();
    }
    let within = root.join("within");
    fs::create_dir(&within).unwrap();
    for number in 0..200 {
        fs::write(within.join(format!("{number:020}")), b"").unwrap();
    }
}

fn touch(path: &Path, tv_sec: i64, tv_nsec: i64) {
    let time = Timespec { tv_sec, tv_nsec };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// Makes files of sizes around the limits of inline data and of blocks, and files with holes.
fn sizes(directory: &Path) {
    fs::create_dir(directory).unwrap();
    let lengths = [
        0, 1, 511, 512, 513, 3000, 4000, 4031, 4032, 4033, 4063, 4064, 4065, 4095, 4096, 4097,
        8191, 8192, 8193, 12_000, 50_000, 65_535, 65_537, 300_000,
    ];
    for length in lengths {
        let bytes: Vec<u8> = (0..length).map(noise).collect();
        fs::write(directory.join(format!("{length}")), bytes).unwrap();
    }
    for (name, offset, length) in [
        ("hole-first", 100_000, 100_010),
        ("hole-last", 0, 200_000),
        ("hole-around", 65_536, 1 << 20),
        ("hole-small", 4096, 16_385),
    ] {
        let file = File::create(directory.join(name)).unwrap();
        file.set_len(length).unwrap();
        file.write_all_at(b"ten bytes!", offset).unwrap();
    }
    let hole = File::create(directory.join("hole")).unwrap();
    hole.set_len(1 << 20).unwrap();
}

/// Returns a byte of a sequence that compresses badly, but not to nothing.
fn noise(index: u32) -> u8 {
    let [byte, ..] = (index.wrapping_mul(2_654_435_761) >> 7).to_le_bytes();
    byte
}

fn special(directory: &Path) {
    fs::create_dir(directory).unwrap();
    let make = |name: &str, file_type, device| {
        let mode = Mode::from_raw_mode(0o640);
        mknodat(CWD, directory.join(name), file_type, mode, device).unwrap();
    };
    make("null", FileType::CharacterDevice, makedev(1, 3));
    make("disk", FileType::BlockDevice, makedev(259, 70_000));
    make("last", FileType::CharacterDevice, makedev(4095, 0xF_FFFF));
    make("fifo", FileType::Fifo, 0);
    make("socket", FileType::Socket, 0);
    let kept = directory.join("kept");
    fs::write(&kept, b"under three names").unwrap();
    fs::hard_link(&kept, directory.join("again")).unwrap();
    fs::hard_link(&kept, directory.join("and-again")).unwrap();
    fs::hard_link(directory.join("null"), directory.join("null-again")).unwrap();
    for length in [1, 59, 3000, 4000, 4031, 4032, 4033, 4064, 4095] {
        // A component of a target must not be longer than a name.
        let target: String = "t/".repeat(length).chars().take(length).collect();
        symlink(target, directory.join(format!("target-{length}"))).unwrap();
    }
    touch(&directory.join("target-59"), 99, 1);
}

fn names(directory: &Path) {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    fs::create_dir(directory).unwrap();
    // mkfs.erofs 1.5 truncates names of 255 bytes.
    for name in [
        &b"!"[..],
        b"+",
        b".-",
        b"...",
        b"\xff\xfe",
        b"new\nline",
        &[b'n'; 254],
    ] {
        fs::write(directory.join(OsStr::from_bytes(name)), name).unwrap();
    }
    for count in [0, 1, 17, 170, 171, 700] {
        let within = directory.join(format!("{count}"));
        fs::create_dir(&within).unwrap();
        for number in 0..count {
            fs::create_dir(within.join(format!("{number:012}"))).unwrap();
        }
    }
}

fn xattrs(directory: &Path) {
    fs::create_dir(directory).unwrap();
    let set = |path: &Path, name: &str, value: &[u8]| {
        lsetxattr(path, name, value, XattrFlags::empty()).unwrap();
    };
    for number in 0..6_usize {
        let path = directory.join(format!("file-{number}"));
        fs::write(&path, vec![b'x'; number * 900]).unwrap();
        set(&path, "user.shared", b"the same on all");
        set(&path, "trusted.own", format!("number {number}").as_bytes());
        set(&path, "user.long", &vec![7; number * 500]);
        if number % 2 == 0 {
            set(&path, "security.capability", CAPABILITY);
            set(&path, "system.posix_acl_access", ACL);
        }
    }
    let sub = directory.join("directory");
    fs::create_dir(&sub).unwrap();
    set(&sub, "system.posix_acl_default", ACL);
    set(&sub, "user.empty", b"");
    let link = directory.join("link");
    symlink("file-0", &link).unwrap();
    set(&link, "trusted.on-a-link", b"yes");
}

fn owners(directory: &Path) {
    fs::create_dir(directory).unwrap();
    for (number, id) in [1000, 65_535, 65_536, u32::MAX - 1].into_iter().enumerate() {
        let path = directory.join(format!("owner-{number}"));
        fs::write(&path, b"").unwrap();
        lchown(&path, Some(id), Some(id - 1)).unwrap();
    }
    for mode in [0, 0o777, 0o1777, 0o2755, 0o4711, 0o7777] {
        let path = directory.join(format!("mode-{mode:o}"));
        fs::write(&path, b"#!").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
}
