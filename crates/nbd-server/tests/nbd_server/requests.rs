use std::io::ErrorKind;

use nbd_server::ServeError;
use proptest::prelude::*;

use crate::memory_disk::MemoryDisk;
use crate::transcript::{Transcript, reply};

const READ: u16 = 0;
const WRITE: u16 = 1;
const DISCONNECT: u16 = 2;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const WRITE_ZEROES: u16 = 6;
const BLOCK_STATUS: u16 = 7;

const FORCED_UNIT_ACCESS: u16 = 1;
const NO_HOLE: u16 = 2;

const EIO: u32 = 5;
const EINVAL: u32 = 22;
const ENOSPC: u32 = 28;

#[test]
fn what_is_written_is_read() {
    let mut disk = MemoryDisk::new(4096);
    let client = Transcript::ready()
        .request(WRITE, 0, 100, 3)
        .bytes(b"abc")
        .request(READ, 0, 99, 5)
        .request(DISCONNECT, 0, 0, 0)
        .request(READ, 0, 0, 1);
    let expected = [reply(0, b""), reply(0, b"\0abc\0")].concat();
    assert_eq!(client.replies(&mut disk), expected);
}

#[test]
fn changes_are_flushed_when_the_client_says_so() {
    let mut disk = MemoryDisk::new(4096);
    let client = Transcript::ready()
        .request(WRITE, 0, 0, 1)
        .bytes(b"a")
        .request(TRIM, 0, 0, 512);
    client.replies(&mut disk);
    assert_eq!((disk.flushes, &disk.discards[..]), (0, &[(0, 512)][..]));
    for client in [
        Transcript::ready().request(FLUSH, 0, 0, 0),
        Transcript::ready()
            .request(WRITE, FORCED_UNIT_ACCESS, 0, 1)
            .bytes(b"a"),
        Transcript::ready().request(TRIM, FORCED_UNIT_ACCESS, 0, 1),
        Transcript::ready().request(WRITE_ZEROES, FORCED_UNIT_ACCESS | NO_HOLE, 0, 1),
    ] {
        let mut disk = MemoryDisk::new(4096);
        assert_eq!(client.replies(&mut disk), reply(0, b""));
        assert_eq!(disk.flushes, 1);
    }
}

#[test]
fn zeros_without_a_hole_are_written() {
    let mut disk = MemoryDisk::new(200_000);
    disk.bytes.fill(7);
    let client = Transcript::ready().request(WRITE_ZEROES, NO_HOLE, 1, 199_998);
    client.replies(&mut disk);
    assert_eq!(disk.zeros, 0);
    let others = disk.bytes.iter().filter(|byte| **byte != 0);
    assert_eq!(others.count(), 2);
}

#[test]
fn ranges_and_flags_are_checked_before_the_disk_is_asked() {
    for (command, flags, offset_bytes, length_bytes, error) in [
        (READ, 0, 4096, 1, EINVAL),
        (READ, 0, u64::MAX, 1, EINVAL),
        (READ, 0, 0, u32::MAX, EINVAL),
        (READ, 4, 0, 1, EINVAL),
        (TRIM, 0, 4095, 2, EINVAL),
        (WRITE_ZEROES, 0, 0, 4097, ENOSPC),
        (WRITE_ZEROES, 0, u64::MAX, u32::MAX, ENOSPC),
        (BLOCK_STATUS, 0, 0, 1, EINVAL),
        (99, 0, 0, 0, EINVAL),
    ] {
        let client = Transcript::ready().request(command, flags, offset_bytes, length_bytes);
        let replies = client
            .request(READ, 0, 0, 0)
            .replies(&mut MemoryDisk::new(4096));
        assert_eq!(replies, [reply(error, b""), reply(0, b"")].concat());
    }
    // The bytes of a refused write are skipped.
    let client = Transcript::ready()
        .request(WRITE, 0, 4095, 2)
        .bytes(b"ab")
        .request(READ, 0, 0, 1);
    let replies = client.replies(&mut MemoryDisk::new(4096));
    assert_eq!(replies, [reply(ENOSPC, b""), reply(0, b"\0")].concat());
}

#[test]
fn a_read_longer_than_the_limit_is_refused_and_a_write_ends_the_connection() {
    let mut disk = MemoryDisk::new(33 << 20);
    let client = Transcript::ready().request(READ, 0, 0, (32 << 20) + 1);
    assert_eq!(client.replies(&mut disk), reply(EINVAL, b""));
    let client = Transcript::ready().request(WRITE, 0, 0, (32 << 20) + 1);
    let (_, outcome) = client.play(&mut disk);
    assert!(matches!(outcome, Err(ServeError::WriteTooLong { .. })));
}

#[test]
fn errors_of_the_disk_are_answers() {
    for (kind, error) in [
        (ErrorKind::StorageFull, ENOSPC),
        (ErrorKind::QuotaExceeded, ENOSPC),
        (ErrorKind::Other, EIO),
    ] {
        let mut disk = MemoryDisk::new(4096);
        disk.failure = Some(kind);
        let client = Transcript::ready()
            .request(WRITE, 0, 0, 1)
            .bytes(b"a")
            .request(FLUSH, 0, 0, 0);
        let expected = [reply(error, b""), reply(error, b"")].concat();
        assert_eq!(client.replies(&mut disk), expected);
    }
}

#[derive(Debug, Clone)]
struct Step {
    command: u16,
    offset: usize,
    length: usize,
    value: u8,
}

prop_compose! {
    fn step()(
        command in prop::sample::select(vec![READ, WRITE, WRITE_ZEROES, FLUSH]),
        offset in 0_usize..9000,
        length in 0_usize..5000,
        value: u8,
    ) -> Step {
        Step { command, offset, length, value }
    }
}

proptest! {
    #[test]
    fn a_session_is_an_array_of_bytes(steps in prop::collection::vec(step(), 0..30)) {
        let size = 8192;
        let mut model = vec![0_u8; size];
        let mut expected = Vec::new();
        let mut client = Transcript::ready();
        for Step { command, offset, length, value } in steps {
            client = client.request(command, 0, offset as u64, length as u32);
            let range = offset..offset + length;
            if command == WRITE {
                client = client.bytes(&vec![value; length]);
            }
            let on_disk = model.get_mut(range);
            expected.extend(match (command, on_disk) {
                (FLUSH, _) => reply(0, b""),
                (READ, Some(bytes)) => reply(0, bytes),
                (READ, None) => reply(EINVAL, b""),
                (_, None) => reply(ENOSPC, b""),
                (WRITE, Some(bytes)) => {
                    bytes.fill(value);
                    reply(0, b"")
                }
                (_, Some(bytes)) => {
                    bytes.fill(0);
                    reply(0, b"")
                }
            });
        }
        let mut disk = MemoryDisk::new(size);
        prop_assert_eq!(client.replies(&mut disk), expected);
        prop_assert_eq!(disk.bytes, model);
    }
}
