use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use fuse_backend_rs::abi::fuse_abi::{
    AccessIn, FallocateIn, Opcode, OpenIn, ROOT_ID, ReadIn, SetattrIn, SetxattrIn, WriteIn,
};

use super::guest::{Guest, NOTHING, body, node};
use super::requests;
use crate::{Entry, Kind};

/// Everything that changes a file that is there, open as `handle`.
pub(super) fn changes(handle: u64) -> Vec<(&'static str, Opcode, Vec<u8>)> {
    let size = SetattrIn {
        valid: 1 << 3,
        ..SetattrIn::default()
    };
    let write = WriteIn {
        fh: handle,
        size: 1,
        ..WriteIn::default()
    };
    let allocate = FallocateIn {
        fh: handle,
        length: 1 << 12,
        ..FallocateIn::default()
    };
    let value = SetxattrIn { size: 2, flags: 0 };
    let access = AccessIn {
        mask: libc::W_OK.unsigned_abs(),
        padding: 0,
    };
    vec![
        ("truncate", Opcode::Setattr, body(size, &[])),
        ("write", Opcode::Write, body(write, &["x"])),
        ("fallocate", Opcode::Fallocate, body(allocate, &[])),
        ("setxattr", Opcode::Setxattr, body(value, &["user.a", "b"])),
        (
            "removexattr",
            Opcode::Removexattr,
            body(NOTHING, &["user.a"]),
        ),
        ("access", Opcode::Access, body(access, &[])),
    ]
}

fn open(guest: &mut Guest, node: u64, flags: i32) -> Result<u64, i32> {
    let input = OpenIn {
        flags: flags.unsigned_abs(),
        fuse_flags: 0,
    };
    let opened = guest.call(Opcode::Open, node, &body(input, &[]))?;
    Ok(u64::from_le_bytes(opened[..8].try_into().unwrap()))
}

#[test]
fn what_is_there_is_seen_and_nothing_is_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "hello").unwrap();
    let before = fs::metadata(&path).unwrap();
    let mut guest = Guest::initialised(directory.path(), true);
    let file = node(&guest.call(Opcode::Lookup, ROOT_ID, b"file\0").unwrap());
    let handle = open(&mut guest, file, libc::O_RDONLY).unwrap();
    let read = ReadIn {
        fh: handle,
        size: 4096,
        ..ReadIn::default()
    };
    let contents = guest.call(Opcode::Read, file, &body(read, &[])).unwrap();
    assert_eq!(contents, b"hello");
    for flags in [
        libc::O_WRONLY,
        libc::O_RDWR,
        libc::O_ACCMODE,
        libc::O_RDONLY | libc::O_TRUNC,
        libc::O_RDONLY | libc::O_CREAT,
        libc::O_TMPFILE | libc::O_RDWR,
    ] {
        for node in [file, ROOT_ID] {
            let opened = open(&mut guest, node, flags);
            assert_eq!(opened, Err(libc::EROFS), "{flags:o}");
        }
    }
    let with_entries = requests("file", "file", file);
    let of_a_new_one = requests("new", "file", file);
    for (what, call, request) in with_entries.into_iter().chain(of_a_new_one) {
        let answer = guest.call(call, ROOT_ID, &request);
        assert_eq!(answer, Err(libc::EROFS), "{what}");
    }
    for (what, call, request) in changes(handle) {
        let answer = guest.call(call, file, &request);
        assert_eq!(answer, Err(libc::EROFS), "{what}");
    }
    let names: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(names.len(), 1);
    assert_eq!(fs::read(&path).unwrap(), b"hello");
    let after = fs::metadata(&path).unwrap();
    let told = |metadata: &fs::Metadata| (metadata.ctime(), metadata.ctime_nsec());
    assert_eq!(told(&after), told(&before));
}

/// The same requests are valid where changes are allowed.
#[test]
fn what_may_be_changed_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "hello").unwrap();
    let mut guest = Guest::initialised(directory.path(), false);
    let file = node(&guest.call(Opcode::Lookup, ROOT_ID, b"file\0").unwrap());
    let handle = open(&mut guest, file, libc::O_RDWR).unwrap();
    for (what, call, request) in changes(handle) {
        let answer = guest.call(call, file, &request);
        assert!(answer.is_ok(), "{what}: {answer:?}");
    }
    let contents = fs::read(&path).unwrap();
    assert_eq!((contents.len(), contents[0]), (1 << 12, b'x'));
}

/// Of a file that takes no such flags: the host refuses them, and the file stays open.
#[test]
fn flags_of_a_request_do_nothing_to_an_open_file() {
    let path = Path::new("/proc/version");
    let entry = Entry {
        name: "0",
        path,
        kind: Kind::File,
    };
    let mut guest = Guest::with_entries(&[entry], true);
    let file = node(&guest.call(Opcode::Lookup, ROOT_ID, b"0\0").unwrap());
    let handle = open(&mut guest, file, libc::O_RDONLY).unwrap();
    let expected = fs::read(path).unwrap();
    for flags in [libc::O_DIRECT, libc::O_DIRECT, libc::O_APPEND, 0] {
        let read = ReadIn {
            fh: handle,
            size: 4096,
            flags: flags.unsigned_abs(),
            ..ReadIn::default()
        };
        let contents = guest.call(Opcode::Read, file, &body(read, &[]));
        assert_eq!(contents, Ok(expected.clone()), "{flags:o}");
    }
    let unknown = ReadIn {
        fh: handle + 1,
        size: 1,
        ..ReadIn::default()
    };
    let answer = guest.call(Opcode::Read, file, &body(unknown, &[]));
    assert_eq!(answer, Err(libc::EBADF));
}
