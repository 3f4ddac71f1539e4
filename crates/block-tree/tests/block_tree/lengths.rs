//! Files of every length around the ends of blocks and groups have BLAKE3's checksum.

use block_tree::{BlockTree, sidecar_bytes};

use crate::{bytes_of, content_of, sidecar_head_last, sidecar_of};

/// Returns every length around the ends of chunks, blocks and groups, and of powers of two of them.
fn lengths() -> Vec<usize> {
    let mut edges = vec![
        1024,
        2048,
        3072,
        4096 * 3,
        4096 * 5,
        65_536 * 3,
        65_536 * 5,
        65_536 * 7,
    ];
    edges.extend((12..=20).map(|power| 1 << power));
    edges.extend((1..=18).map(|blocks| blocks * 4096));
    let mut lengths: Vec<usize> = edges
        .into_iter()
        .flat_map(|edge| [edge - 1, edge, edge + 1, edge + 1023, edge + 1025])
        .chain([0, 1, 2])
        .collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

#[test]
fn the_values_lead_to_the_checksum_of_blake3() {
    let bytes = bytes_of(2 << 20);
    for length in lengths() {
        let bytes = &bytes[..length];
        let expected = content_of(bytes);
        for pieces in [&[1 << 20][..], &[1000], &[4096], &[5000, 1, 70_000, 4095]] {
            let (sidecar, content) = sidecar_of(bytes, pieces);
            assert_eq!(content, expected, "{length} bytes in pieces of {pieces:?}");
            let written = u64::try_from(sidecar.len()).expect("short");
            assert_eq!(written, sidecar_bytes(content.length_bytes));
            let tree = BlockTree::open(sidecar, &expected).expect("the right sidecar");
            tree.verify(0, bytes).expect("the right bytes");
        }
    }
}

#[test]
fn a_first_block_that_comes_last_changes_nothing() {
    let bytes = bytes_of(2 << 20);
    for length in lengths() {
        let Some((head, tail)) = bytes[..length].split_first_chunk() else {
            continue;
        };
        let expected = sidecar_of(&bytes[..length], &[1 << 20]);
        for piece in [1000, 4096, 65_536, 1 << 20] {
            let found = sidecar_head_last(head, tail, piece);
            assert!(found == expected, "{length} bytes in pieces of {piece}");
        }
    }
}

#[test]
fn a_large_file_has_the_checksum_of_blake3() {
    let bytes = bytes_of((64 << 20) + 12_345);
    let (sidecar, content) = sidecar_of(&bytes, &[(1 << 20) + 7]);
    assert_eq!(content, content_of(&bytes));
    let tree = BlockTree::open(sidecar, &content).expect("the right sidecar");
    tree.verify(0, &bytes).expect("the right bytes");
}

#[test]
fn the_length_of_a_sidecar_follows_from_that_of_the_file() {
    for (length_bytes, expected) in [
        (0, 64),
        (1, 64),
        (4096, 64),
        (4097, 96),
        (16 << 40, 32 + (128 << 30)),
        (u64::MAX, 32 + (1 << 57)),
    ] {
        assert_eq!(sidecar_bytes(length_bytes), expected, "{length_bytes}");
    }
}
