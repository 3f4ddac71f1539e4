//! Clients that send anything: the server ends without a panic, and touches no byte outside of the
//! disk, whose slices would panic.

use nbd_server::ServeError;
use proptest::prelude::*;

use crate::memory_disk::MemoryDisk;
use crate::transcript::{FIXED_NO_ZEROES, GO, INFO, Transcript, named};

fn session() -> Transcript {
    Transcript::new(FIXED_NO_ZEROES)
        .option(3, b"")
        .option(INFO, &named(b"", &[0, 3]))
        .option(GO, &named(b"", &[]))
        .request(1, 1, 512, 700)
        .bytes(&[5; 700])
        .request(0, 0, 0, 4096)
        .request(6, 2, 100, 512)
        .request(4, 0, 0, 4096)
        .request(3, 0, 0, 0)
        .request(2, 0, 0, 0)
}

#[test]
fn a_client_may_go_at_any_byte() {
    let whole = session();
    for length in 0..whole.0.len() {
        let cut = Transcript(whole.0[..length].to_vec());
        let (_, outcome) = cut.play(&mut MemoryDisk::new(4096));
        assert!(matches!(outcome, Ok(()) | Err(ServeError::Io { .. })));
    }
}

#[test]
fn a_promised_write_costs_no_more_than_its_limit() {
    // The bytes never come.
    let client = Transcript::ready().request(1, 0, 0, 32 << 20);
    let (_, outcome) = client.play(&mut MemoryDisk::new(4096));
    assert!(matches!(outcome, Err(ServeError::Io { .. })));
}

proptest! {
    #[test]
    fn changed_bytes_end_in_order(
        changes in prop::collection::vec((0_usize..1200, any::<u8>()), 1..8),
    ) {
        let mut session = session();
        for (index, byte) in changes {
            if let Some(changed) = session.0.get_mut(index) {
                *changed = byte;
            }
        }
        let _ = session.play(&mut MemoryDisk::new(4096));
    }

    #[test]
    fn any_requests_end_in_order(bytes in prop::collection::vec(any::<[u8; 24]>(), 0..20)) {
        let client = bytes.iter().fold(Transcript::ready(), |client, bytes| {
            client.bytes(&0x2560_9513_u32.to_be_bytes()).bytes(bytes)
        });
        let _ = client.play(&mut MemoryDisk::new(4096));
    }
}
