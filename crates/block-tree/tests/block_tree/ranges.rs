//! Ranges are verified if they consist of whole blocks, and every changed bit is found.

use std::io;
use std::sync::Mutex;

use block_tree::{BlockTree, VerifyError};
use fstree::ReadAt;

use crate::{bytes_of, sidecar_of, tree_of};

fn block_found(found: &Result<(), VerifyError>) -> Option<u64> {
    match found {
        Err(VerifyError::Block { offset_bytes }) => Some(*offset_bytes),
        _ => None,
    }
}

#[test]
fn every_flipped_bit_of_a_short_file_is_found() {
    for length in [1, 1025, 4100] {
        let mut bytes = bytes_of(length);
        let tree = tree_of(&bytes);
        for bit in 0..length * 8 {
            let at = bit / 8;
            bytes[at] ^= 1 << (bit % 8);
            let found = tree.verify(0, &bytes);
            let block = u64::try_from(at / 4096 * 4096).expect("short");
            assert_eq!(
                block_found(&found),
                Some(block),
                "bit {bit} of {length} bytes"
            );
            bytes[at] ^= 1 << (bit % 8);
        }
        tree.verify(0, &bytes).expect("the bytes are as before");
    }
}

#[test]
fn a_flipped_bit_is_found_in_every_block_and_by_every_range() {
    let mut bytes = bytes_of(3 * 65_536 + 9000);
    let tree = tree_of(&bytes);
    for block in 0..bytes.len().div_ceil(4096) {
        let start = block * 4096;
        let end = bytes.len().min(start + 4096);
        let group = start / 65_536 * 65_536;
        let group_end = bytes.len().min(group + 65_536);
        for at in [start, (start + end) / 2, end - 1] {
            bytes[at] ^= 0x10;
            for (from, to) in [(0, bytes.len()), (group, group_end), (start, end)] {
                let offset = u64::try_from(from).expect("short");
                let found = tree.verify(offset, &bytes[from..to]);
                let expected = u64::try_from(start).expect("short");
                assert_eq!(
                    block_found(&found),
                    Some(expected),
                    "byte {at} in {from}..{to}"
                );
            }
            bytes[at] ^= 0x10;
        }
    }
}

#[test]
fn blocks_of_another_place_are_refused() {
    let bytes = [7; 4 * 65_536];
    let mut other = bytes_of(4 * 65_536);
    other[65_536..2 * 65_536].copy_from_slice(&bytes[..65_536]);
    let tree = tree_of(&other);
    tree.verify(65_536, &bytes[..65_536])
        .expect("its own place");
    assert_eq!(
        block_found(&tree.verify(131_072, &bytes[..65_536])),
        Some(131_072)
    );
    assert_eq!(block_found(&tree.verify(4096, &bytes[..4096])), Some(4096));
}

#[test]
fn ranges_that_are_not_of_whole_blocks_are_refused() {
    let bytes = bytes_of(70_000);
    let tree = tree_of(&bytes);
    for (offset, from, to) in [
        (1, 1, 4097),
        (0, 0, 4095),
        (4096, 4096, 8191),
        (69_632, 69_632, 69_999),
        (73_728, 0, 4096),
        (69_632, 0, 4096),
        (u64::MAX, 0, 1),
        (u64::MAX - 4095, 0, 4096),
    ] {
        let found = tree.verify(offset, &bytes[from..to]);
        assert!(
            matches!(found, Err(VerifyError::Range { .. })),
            "{offset}: {found:?}"
        );
    }
    tree.verify(69_632, &bytes[69_632..])
        .expect("the last block");
    for offset in [0, 4096, 70_000 / 4096 * 4096] {
        tree.verify(offset, &[]).expect("no bytes");
    }
}

/// A sidecar that can be changed while it is open.
struct Changing(Mutex<Vec<u8>>);

impl ReadAt for &Changing {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        self.0
            .lock()
            .expect("no panic")
            .read_exact_at(buf, offset_bytes)
    }

    fn size_bytes(&self) -> io::Result<u64> {
        self.0.lock().expect("no panic").size_bytes()
    }
}

#[test]
fn a_sidecar_that_changes_while_it_is_open_proves_nothing() {
    let bytes = bytes_of(100_000);
    let (sidecar, content) = sidecar_of(&bytes, &[100_000]);
    let changing = Changing(Mutex::new(sidecar));
    let tree = BlockTree::open(&changing, &content).expect("the right sidecar");
    // The value of block 3.
    changing.0.lock().expect("no panic")[32 + 3 * 32] ^= 1;
    let found = tree.verify(8192, &bytes[8192..12_288]);
    assert!(
        matches!(found, Err(VerifyError::Sidecar { offset_bytes: 0 })),
        "{found:?}"
    );
    tree.verify(65_536, &bytes[65_536..69_632])
        .expect("another group");
    tree.verify(0, &bytes)
        .expect("groups need no values of blocks");
    changing.0.lock().expect("no panic").truncate(100);
    let found = tree.verify(8192, &bytes[8192..12_288]);
    assert!(matches!(found, Err(VerifyError::Io(_))), "{found:?}");
}
