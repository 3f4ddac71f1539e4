//! Random files, pieces, ranges and changes.

use block_tree::{BlockTree, VerifyError};
use proptest::prelude::*;

use crate::{bytes_of, content_of, sidecar_head_last, sidecar_of};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_pieces_do_not_matter(
        length in 0_usize..300_000,
        pieces in prop::collection::vec(1_usize..20_000, 1..8),
    ) {
        let bytes = bytes_of(length);
        let (sidecar, content) = sidecar_of(&bytes, &pieces);
        prop_assert_eq!(content, content_of(&bytes));
        if let Some((head, tail)) = bytes.split_first_chunk() {
            prop_assert!(sidecar_head_last(head, tail, pieces[0]) == (sidecar, content));
        }
    }

    #[test]
    fn a_range_is_accepted_if_and_only_if_it_is_right(
        length in 1_usize..300_000,
        first in 0_usize..80,
        count in 1_usize..80,
        change in any::<prop::sample::Index>(),
        mask in 0_u8..=3,
    ) {
        let bytes = bytes_of(length);
        let (sidecar, content) = sidecar_of(&bytes, &[65_536]);
        let tree = BlockTree::open(sidecar, &content).expect("the right sidecar");
        let from = (first * 4096).min((length - 1) / 4096 * 4096);
        let to = (from + count * 4096).min(length);
        let mut range = bytes[from..to].to_vec();
        let at = change.index(range.len());
        range[at] ^= mask;
        let found = tree.verify(u64::try_from(from).expect("short"), &range);
        if mask == 0 {
            prop_assert!(found.is_ok());
        } else {
            let block = u64::try_from((from + at) / 4096 * 4096).expect("short");
            let is_found = matches!(found, Err(VerifyError::Block { offset_bytes }) if offset_bytes == block);
            prop_assert!(is_found);
        }
    }
}
