use std::fs;
use std::os::unix::fs::MetadataExt as _;

use fuse_backend_rs::abi::fuse_abi::{CreateIn, MkdirIn, MknodIn, Opcode, ROOT_ID};

use super::guest::{Guest, NOTHING, body};

#[test]
fn what_any_user_of_a_guest_makes_is_the_hosts_user_s() {
    let directory = tempfile::tempdir().unwrap();
    let owner = fs::metadata(directory.path()).unwrap().uid();
    let mut guest = Guest::initialised(directory.path(), false);
    guest.user = 4321;
    let fifo = MknodIn {
        mode: libc::S_IFIFO | 0o644,
        ..MknodIn::default()
    };
    for (what, call, request) in [
        ("file", Opcode::Create, body(CreateIn::default(), &["file"])),
        (
            "directory",
            Opcode::Mkdir,
            body(MkdirIn::default(), &["directory"]),
        ),
        ("fifo", Opcode::Mknod, body(fifo, &["fifo"])),
        ("symlink", Opcode::Symlink, body(NOTHING, &["symlink", "x"])),
    ] {
        let made = guest.call(call, ROOT_ID, &request);
        assert!(made.is_ok(), "{what}: {made:?}");
        let metadata = fs::symlink_metadata(directory.path().join(what)).unwrap();
        assert_eq!(metadata.uid(), owner, "{what}");
    }
}
