use std::fs;
use std::process::Command;

use fuse_backend_rs::abi::fuse_abi::{CreateIn, ForgetIn, Opcode, ROOT_ID, ReleaseIn};

use super::guest::{Guest, body, node};

/// The largest allowed growth. It is above the noise of the process, and far below one word leaked
/// for each file.
const GROWTH_MAX_BYTES: usize = 2 << 20;
const FILES: u64 = 50_000;

fn resident_bytes() -> usize {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    let pages = pages.split(' ').nth(1).unwrap();
    pages.parse::<usize>().unwrap() << 12
}

/// Creates a file, removes it and forgets it.
fn come_and_go(guest: &mut Guest) {
    let create = body(CreateIn::default(), &["file"]);
    let made = guest.call(Opcode::Create, ROOT_ID, &create).unwrap();
    let file = node(&made);
    // The open response follows `fuse_entry_out`.
    let fh = node(&made[128..]);
    let release = ReleaseIn {
        fh,
        ..ReleaseIn::default()
    };
    guest
        .call(Opcode::Release, file, &body(release, &[]))
        .unwrap();
    guest.call(Opcode::Unlink, ROOT_ID, b"file\0").unwrap();
    let forget = ForgetIn { nlookup: 1 };
    guest.send(Opcode::Forget, file, &body(forget, &[]));
    let asked = guest.call(Opcode::Getattr, file, &[0; 16]);
    assert_eq!(asked, Err(libc::EBADF), "the file is not forgotten");
}

/// Other tests of this process take memory at the same time, so another process measures.
#[test]
fn files_that_come_and_go_leave_nothing() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "tests::memory::a_process_alone_keeps_nothing",
        ])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{told}"
    );
}

/// Runs on tmpfs, which never reuses an inode number.
#[test]
#[ignore = "measures its process: files_that_come_and_go_leave_nothing runs it alone"]
fn a_process_alone_keeps_nothing() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let mut guest = Guest::initialised(directory.path(), false);
    for _ in 0..1000 {
        come_and_go(&mut guest);
    }
    let before = resident_bytes();
    for _ in 0..FILES {
        come_and_go(&mut guest);
    }
    let growth = resident_bytes().saturating_sub(before);
    assert!(growth < GROWTH_MAX_BYTES, "{growth} bytes");
}
