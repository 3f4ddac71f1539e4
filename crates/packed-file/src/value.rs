//! Values of BLAKE3's tree. The value of a group is that of its subtree, and the values of neighbours give
//! that of the subtree above them. What is the whole content has the checksum itself as its value.

use blake3::Hasher;
use blake3::hazmat::{HasherExt as _, Mode, merge_subtrees_non_root, merge_subtrees_root};

/// A value of BLAKE3's tree: of a group, of a section, or of the whole content, which is its checksum.
pub type Value = [u8; blake3::OUT_LEN];

/// Bytes of a group: a power of two, so that a group is a subtree of BLAKE3.
pub const GROUP_BYTES: usize = 64 << 10;

/// Returns the value of a group, which is not empty. `is_whole` is true if it is the whole content.
pub(crate) fn group_value(group: &[u8], offset_bytes: u64, is_whole: bool) -> Value {
    if is_whole {
        return *blake3::hash(group).as_bytes();
    }
    let mut hasher = Hasher::new();
    hasher.set_input_offset(offset_bytes).update(group);
    hasher.finalize_non_root()
}

/// Returns the value above neighbours, which all are complete but the last. `is_whole` is true if they are
/// the whole content.
pub(crate) fn merged(values: &[Value], is_whole: bool) -> Value {
    match values {
        [] => *blake3::hash(&[]).as_bytes(),
        [value] => *value,
        _ => {
            // The left subtree is the largest complete one that leaves something for the right one.
            let (left, right) = values.split_at(values.len().next_power_of_two() / 2);
            let (left, right) = (merged(left, false), merged(right, false));
            if is_whole {
                *merge_subtrees_root(&left, &right, Mode::Hash).as_bytes()
            } else {
                merge_subtrees_non_root(&left, &right, Mode::Hash)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_lead_to_the_checksum() {
        let bytes: Vec<u8> = (0_u32..700_000).flat_map(u32::to_le_bytes).collect();
        for length in [
            0, 1, 1024, 1025, 65_535, 65_536, 65_537, 131_072, 196_609, 2_800_000,
        ] {
            let content = &bytes[..length];
            let is_whole = length <= GROUP_BYTES;
            let values: Vec<Value> = content
                .chunks(GROUP_BYTES)
                .enumerate()
                .map(|(number, group)| {
                    group_value(group, crate::wide(number * GROUP_BYTES), is_whole)
                })
                .collect();
            let checksum = blake3::hash(content);
            assert_eq!(merged(&values, true), *checksum.as_bytes(), "{length}");
            // Sections of four groups, a smaller power of two than the real one.
            let is_one = values.len() <= 4;
            let sections: Vec<Value> = values.chunks(4).map(|of| merged(of, is_one)).collect();
            assert_eq!(merged(&sections, true), *checksum.as_bytes(), "{length}");
        }
    }
}
