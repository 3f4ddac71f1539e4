use std::fs;
use std::path::{Path, PathBuf};

use fuse_backend_rs::abi::fuse_abi::{
    ATTR_SUBMOUNT, LinkIn, Opcode, OpenIn, ROOT_ID, ReadIn, Rename2In, WriteIn,
};

use super::guest::{Guest, NOTHING, body, node};
use super::requests;
use crate::{Entry, Kind};

/// The offset in an answer with an entry of the flags of its attributes (`struct fuse_entry_out`).
const FLAGS_AT: usize = 124;

/// Two directories and two files, each file with one beside it that is not shared.
struct TestDirectory(tempfile::TempDir);

impl TestDirectory {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for directory in ["one", "two", "beside"] {
            fs::create_dir(place.path(directory)).unwrap();
            fs::write(place.path(directory).join("file"), directory).unwrap();
            fs::write(place.path(directory).join("secret"), "secret").unwrap();
        }
        fs::write(place.path("beside/disk"), [0; 8192]).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn guest(&self, is_read_only: bool) -> Guest {
        let paths = ["one", "two", "beside/file", "beside/disk"].map(|name| self.path(name));
        let kinds = [Kind::Directory, Kind::Directory, Kind::File, Kind::Disk];
        let entry = |index: usize| Entry {
            name: ["0", "1", "2", "3"][index],
            path: &paths[index],
            kind: kinds[index],
        };
        Guest::with_entries(&[entry(0), entry(1), entry(2), entry(3)], is_read_only)
    }
}

fn lookup(guest: &mut Guest, parent: u64, name: &str) -> Result<u64, i32> {
    let found = guest.call(Opcode::Lookup, parent, &body(NOTHING, &[name]))?;
    Ok(node(&found))
}

fn open(guest: &mut Guest, node: u64, flags: i32) -> Result<u64, i32> {
    let input = OpenIn {
        flags: flags.unsigned_abs(),
        fuse_flags: 0,
    };
    let opened = guest.call(Opcode::Open, node, &body(input, &[]))?;
    Ok(u64::from_le_bytes(opened[..8].try_into().unwrap()))
}

fn write(
    guest: &mut Guest,
    node: u64,
    handle: u64,
    offset: u64,
    flags: i32,
) -> Result<Vec<u8>, i32> {
    let input = WriteIn {
        fh: handle,
        offset,
        size: 1,
        flags: flags.unsigned_abs(),
        ..WriteIn::default()
    };
    guest.call(Opcode::Write, node, &body(input, &["x"]))
}

fn read(guest: &mut Guest, node: u64, handle: u64) -> Vec<u8> {
    let input = ReadIn {
        fh: handle,
        size: 4096,
        ..ReadIn::default()
    };
    guest.call(Opcode::Read, node, &body(input, &[])).unwrap()
}

fn content(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn each_entry_has_its_own_files() {
    let place = TestDirectory::new();
    let mut guest = place.guest(false);
    for (name, directory) in [("0", "one"), ("1", "two")] {
        let found = guest
            .call(Opcode::Lookup, ROOT_ID, &body(NOTHING, &[name]))
            .unwrap();
        let flags = u32::from_le_bytes(found[FLAGS_AT..FLAGS_AT + 4].try_into().unwrap());
        assert_eq!(flags & ATTR_SUBMOUNT, ATTR_SUBMOUNT, "{name}");
        let file = lookup(&mut guest, node(&found), "file").unwrap();
        let handle = open(&mut guest, file, libc::O_RDWR).unwrap();
        assert_eq!(read(&mut guest, file, handle), directory.as_bytes());
        write(&mut guest, file, handle, 0, libc::O_RDWR).unwrap();
        let written = content(&place.path(directory).join("file"));
        assert_eq!(written, format!("x{}", &directory[1..]));
    }
    for name in ["4", "00", "one", "secret", "file"] {
        assert_eq!(
            lookup(&mut guest, ROOT_ID, name),
            Err(libc::ENOENT),
            "{name}"
        );
    }
}

#[test]
fn nothing_is_made_in_the_root_or_found_where_nothing_was_given_out() {
    let place = TestDirectory::new();
    let mut guest = place.guest(false);
    let directory = lookup(&mut guest, ROOT_ID, "0").unwrap();
    let file = lookup(&mut guest, directory, "file").unwrap();
    for (what, call, request) in requests("new", "file", file) {
        let answer = guest.call(call, ROOT_ID, &request);
        assert_eq!(answer, Err(libc::EPERM), "{what}");
    }
    let listing = body(ReadIn::default(), &[]);
    for call in [Opcode::Readdir, Opcode::Readdirplus] {
        let listed = guest.call(call, ROOT_ID, &listing);
        assert_eq!(listed, Ok(Vec::new()), "who mounts it knows the names");
    }
    guest.call(Opcode::Statfs, ROOT_ID, &[]).unwrap();
    for unknown in [0, 2, 5 << 56 | 1, 255 << 56 | 1, u64::MAX] {
        let answer = guest.call(Opcode::Getattr, unknown, &[0; 16]);
        assert_eq!(answer, Err(libc::EBADF), "{unknown:x}");
    }
}

#[test]
fn no_entry_leads_into_another() {
    let place = TestDirectory::new();
    let mut guest = place.guest(false);
    let one = lookup(&mut guest, ROOT_ID, "0").unwrap();
    let two = lookup(&mut guest, ROOT_ID, "1").unwrap();
    let file = lookup(&mut guest, one, "file").unwrap();
    let shared = lookup(&mut guest, ROOT_ID, "2").unwrap();
    for inode in [file, shared] {
        let link = LinkIn { oldnodeid: inode };
        let answer = guest.call(Opcode::Link, two, &body(link, &["linked"]));
        assert_eq!(answer, Err(libc::EXDEV));
    }
    let rename = Rename2In {
        newdir: two,
        ..Rename2In::default()
    };
    let answer = guest.call(Opcode::Rename2, one, &body(rename, &["file", "moved"]));
    assert_eq!(answer, Err(libc::EXDEV));
    assert_eq!(content(&place.path("one/file")), "one");
}

#[test]
fn a_file_is_shared_without_what_lies_beside_it() {
    let place = TestDirectory::new();
    for is_read_only in [false, true] {
        let mut guest = place.guest(is_read_only);
        let file = lookup(&mut guest, ROOT_ID, "2").unwrap();
        let handle = open(&mut guest, file, libc::O_RDONLY).unwrap();
        assert_eq!(read(&mut guest, file, handle), b"beside");
        for name in ["secret", "file", "..", ".", "../secret", "/etc/passwd", ""] {
            let found = lookup(&mut guest, file, name);
            let is_refused = matches!(found, Err(libc::ENOTDIR | libc::EINVAL));
            assert!(is_refused, "{name}: {found:?}");
            for (what, call, request) in requests(name, "file", file) {
                let answer = guest.call(call, file, &request);
                assert!(answer.is_err(), "{what} of {name}");
            }
        }
    }
    let mut names: Vec<_> = fs::read_dir(place.path("beside"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["disk", "file", "secret"]);
    assert_eq!(content(&place.path("beside/secret")), "secret");
    assert_eq!(content(&place.path("beside/file")), "beside");
}

/// As docker has it: what is mounted is the file, not its name.
#[test]
fn a_file_stays_the_one_that_was_opened() {
    let place = TestDirectory::new();
    let path = place.path("beside/file");
    let kept = place.path("beside/kept");
    let mut guest = place.guest(false);
    fs::hard_link(&path, &kept).unwrap();
    fs::write(place.path("beside/new"), "another").unwrap();
    fs::rename(place.path("beside/new"), &path).unwrap();
    let file = lookup(&mut guest, ROOT_ID, "2").unwrap();
    let handle = open(&mut guest, file, libc::O_RDWR).unwrap();
    write(&mut guest, file, handle, 0, libc::O_RDWR).unwrap();
    assert_eq!(content(&kept), "xeside");
    assert_eq!(content(&path), "another");
}

#[test]
fn nothing_changes_a_read_only_file_or_disk() {
    let place = TestDirectory::new();
    let mut guest = place.guest(true);
    for name in ["2", "3"] {
        let file = lookup(&mut guest, ROOT_ID, name).unwrap();
        for flags in [libc::O_RDWR, libc::O_WRONLY, libc::O_RDONLY | libc::O_CREAT] {
            let opened = open(&mut guest, file, flags);
            assert_eq!(opened, Err(libc::EROFS), "{flags:o}");
        }
        let handle = open(&mut guest, file, libc::O_RDONLY).unwrap();
        for (what, call, request) in super::read_only::changes(handle) {
            let answer = guest.call(call, file, &request);
            assert_eq!(answer, Err(libc::EROFS), "{what}");
        }
    }
}
