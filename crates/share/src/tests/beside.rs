use std::fs;
use std::io::Write as _;

use fuse_backend_rs::abi::fuse_abi::{FsOptions, Opcode, OpenIn, ROOT_ID, WriteIn};

use super::guest::{Guest, NOTHING, body, node};

/// A kernel that caches writes, opens or contents does not see the host's changes.
#[test]
fn a_guest_is_to_keep_nothing_to_itself() {
    let directory = tempfile::tempdir().unwrap();
    for is_read_only in [false, true] {
        let wanted = Guest::new(directory.path(), is_read_only).init();
        assert!(wanted.contains(FsOptions::AUTO_INVAL_DATA), "{wanted:?}");
        let kept = FsOptions::WRITEBACK_CACHE
            | FsOptions::ZERO_MESSAGE_OPEN
            | FsOptions::ZERO_MESSAGE_OPENDIR
            | FsOptions::EXPLICIT_INVAL_DATA
            | FsOptions::CACHE_SYMLINKS
            | FsOptions::EXPORT_SUPPORT
            | FsOptions::PERFILE_DAX;
        assert!(!wanted.intersects(kept), "{wanted:?}");
    }
}

#[test]
fn what_both_append_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "first ").unwrap();
    let mut guest = Guest::initialised(directory.path(), false);
    let file = node(&guest.call(Opcode::Lookup, ROOT_ID, b"file\0").unwrap());
    let flags = (libc::O_WRONLY | libc::O_APPEND).unsigned_abs();
    let open = OpenIn {
        flags,
        ..OpenIn::default()
    };
    let fh = node(&guest.call(Opcode::Open, file, &body(open, &[])).unwrap());
    let mut host = fs::File::options().append(true).open(&path).unwrap();
    host.write_all(b"host ").unwrap();
    // The guest believes that the file ends at this offset.
    let write = WriteIn {
        fh,
        offset: 6,
        size: 5,
        flags,
        ..WriteIn::default()
    };
    let request = [&body(write, &[])[..], b"guest"].concat();
    guest.call(Opcode::Write, file, &request).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"first host guest");
}

/// The opened directory stays the shared one. A guest that mounts again does not get a directory
/// that has taken its path.
#[test]
fn a_directory_is_opened_once() {
    let place = tempfile::tempdir().unwrap();
    let (shared, moved) = (place.path().join("shared"), place.path().join("moved"));
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("file"), "").unwrap();
    let mut guest = Guest::initialised(&shared, false);
    fs::rename(&shared, &moved).unwrap();
    fs::create_dir(&shared).unwrap();
    guest.call(Opcode::Destroy, ROOT_ID, &NOTHING).unwrap();
    guest.init();
    guest.call(Opcode::Lookup, ROOT_ID, b"file\0").unwrap();
}
