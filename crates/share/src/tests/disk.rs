use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

use fuse_backend_rs::abi::fuse_abi::{
    FallocateIn, Opcode, OpenIn, ROOT_ID, SetattrIn, SetxattrIn, WriteIn,
};

use super::guest::{Guest, NOTHING, body, node};
use crate::{Entry, Kind};

const DISK_BYTES: u64 = 64 << 10;

/// A disk that may be written, open as `handle`.
struct Disk {
    _directory: tempfile::TempDir,
    path: PathBuf,
    guest: Guest,
    node: u64,
    handle: u64,
}

impl Disk {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("disk");
        fs::write(&path, vec![7; usize::try_from(DISK_BYTES).unwrap()]).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let entry = Entry {
            name: "d",
            path: &path,
            kind: Kind::Disk,
        };
        let mut guest = Guest::with_entries(&[entry], false);
        let node = node(&guest.call(Opcode::Lookup, ROOT_ID, b"d\0").unwrap());
        let mut disk = Self {
            _directory: directory,
            path,
            guest,
            node,
            handle: 0,
        };
        disk.handle = disk.open(libc::O_RDWR).unwrap();
        disk
    }

    fn call(&mut self, call: Opcode, request: &[u8]) -> Result<Vec<u8>, i32> {
        self.guest.call(call, self.node, request)
    }

    fn open(&mut self, flags: i32) -> Result<u64, i32> {
        let input = OpenIn {
            flags: flags.unsigned_abs(),
            fuse_flags: 0,
        };
        let opened = self.call(Opcode::Open, &body(input, &[]))?;
        Ok(u64::from_le_bytes(opened[..8].try_into().unwrap()))
    }

    fn write(&mut self, offset: u64, flags: i32) -> Result<Vec<u8>, i32> {
        let input = WriteIn {
            fh: self.handle,
            offset,
            size: 512,
            flags: flags.unsigned_abs(),
            ..WriteIn::default()
        };
        let bytes = [body(input, &[]), vec![9; 512]].concat();
        self.call(Opcode::Write, &bytes)
    }

    fn allocate(&mut self, offset: u64, length: u64, mode: i32) -> Result<Vec<u8>, i32> {
        let input = FallocateIn {
            fh: self.handle,
            offset,
            length,
            mode: mode.unsigned_abs(),
            ..FallocateIn::default()
        };
        self.call(Opcode::Fallocate, &body(input, &[]))
    }

    /// It has its length, its mode, and the bytes that belong to no write.
    #[track_caller]
    fn is_whole(&self) {
        let metadata = fs::metadata(&self.path).unwrap();
        assert_eq!(metadata.len(), DISK_BYTES);
        assert_eq!(metadata.mode() & 0o7777, 0o600);
        assert_eq!(fs::read(&self.path).unwrap().last(), Some(&7));
    }
}

#[test]
fn a_disk_is_written_within_its_length() {
    let mut disk = Disk::new();
    disk.write(4096, libc::O_RDWR).unwrap();
    assert_eq!(fs::read(&disk.path).unwrap()[4096..4608], [9; 512]);
    let punch = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    disk.allocate(0, 8192, punch).unwrap();
    assert_eq!(fs::read(&disk.path).unwrap()[..8192], [0; 8192]);
    for offset in [DISK_BYTES, DISK_BYTES - 256, 1 << 40, u64::MAX - 100] {
        assert!(
            disk.write(offset, libc::O_RDWR).is_err(),
            "write at {offset}"
        );
    }
    for mode in [
        0,
        libc::FALLOC_FL_KEEP_SIZE,
        libc::FALLOC_FL_INSERT_RANGE,
        libc::FALLOC_FL_COLLAPSE_RANGE,
    ] {
        let outside = disk.allocate(DISK_BYTES - 4096, 1 << 20, mode);
        assert!(outside.is_err(), "fallocate {mode}");
    }
    let moved = disk.allocate(0, 4096, libc::FALLOC_FL_COLLAPSE_RANGE);
    assert!(moved.is_err());
    disk.is_whole();
}

#[test]
fn nothing_but_the_content_of_a_disk_is_changed() {
    let mut disk = Disk::new();
    for flags in [
        libc::O_RDWR | libc::O_TRUNC,
        libc::O_RDWR | libc::O_APPEND,
        libc::O_RDONLY | libc::O_APPEND,
    ] {
        assert_eq!(disk.open(flags), Err(libc::EPERM), "{flags:o}");
        let written = disk.write(0, flags);
        assert_eq!(written, Err(libc::EPERM), "{flags:o}");
    }
    for valid in [1, 1 << 1, 1 << 3, 1 << 5] {
        let attributes = SetattrIn {
            valid,
            mode: 0o666,
            ..SetattrIn::default()
        };
        let answer = disk.call(Opcode::Setattr, &body(attributes, &[]));
        assert_eq!(answer, Err(libc::EPERM), "{valid}");
    }
    let value = SetxattrIn { size: 2, flags: 0 };
    let answer = disk.call(Opcode::Setxattr, &body(value, &["user.a", "b"]));
    assert_eq!(answer, Err(libc::EPERM));
    let answer = disk.call(Opcode::Removexattr, &body(NOTHING, &["user.a"]));
    assert_eq!(answer, Err(libc::EPERM));
    disk.is_whole();
}
