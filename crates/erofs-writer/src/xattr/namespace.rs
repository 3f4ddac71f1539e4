use xxhash_rust::xxh32::xxh32;

use crate::error::InvalidInode;
use crate::format::{XATTR_FILTER_SEED, XATTR_NAME_MAX_BYTES};

/// `EROFS_XATTR_INDEX_*`, its prefix, and true if a suffix follows the prefix.
const NAMESPACES: [(u8, &[u8], bool); 5] = [
    (1, b"user.", true),
    (2, b"system.posix_acl_access", false),
    (3, b"system.posix_acl_default", false),
    (4, b"trusted.", true),
    (6, b"security.", true),
];

/// Splits a full name into the code of its prefix and the suffix.
pub(crate) fn split_name(full_name: &[u8]) -> Result<(u8, &[u8]), InvalidInode> {
    let (index, suffix, open) = NAMESPACES
        .iter()
        .find_map(|&(index, prefix, open)| {
            let suffix = full_name.strip_prefix(prefix)?;
            (open || suffix.is_empty()).then_some((index, suffix, open))
        })
        .ok_or_else(|| InvalidInode::XattrNamespace {
            name: full_name.escape_ascii().to_string(),
        })?;
    let length_fits = full_name.len() <= XATTR_NAME_MAX_BYTES && (!open || !suffix.is_empty());
    if !length_fits || suffix.contains(&0) {
        return Err(InvalidInode::XattrName {
            name: full_name.escape_ascii().to_string(),
        });
    }
    Ok((index, suffix))
}

/// Joins a prefix's code and a suffix into a full name. `None` if [`split_name`] never returns
/// them.
pub(crate) fn full_name(index: u8, suffix: &[u8]) -> Option<Vec<u8>> {
    let (_, prefix, _) = NAMESPACES.iter().find(|namespace| namespace.0 == index)?;
    let name = [prefix, suffix].concat();
    split_name(&name).ok()?;
    Some(name)
}

/// Returns the bit of `h_name_filter` that a name clears.
pub(crate) fn filter_bit(index: u8, suffix: &[u8]) -> u32 {
    let seed = XATTR_FILTER_SEED.wrapping_add(u32::from(index));
    1 << (xxh32(suffix, seed) & 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_split_and_join() {
        type Split = Option<(u8, &'static [u8])>;
        let cases: [(&[u8], Split); 9] = [
            (b"user.note", Some((1, b"note"))),
            (b"system.posix_acl_access", Some((2, b""))),
            (b"system.posix_acl_default", Some((3, b""))),
            (b"trusted.overlay.opaque", Some((4, b"overlay.opaque"))),
            (b"security.capability", Some((6, b"capability"))),
            (b"system.posix_acl_accessory", None),
            (b"user.", None),
            (b"user.a\0b", None),
            (b"btrfs.compression", None),
        ];
        for (name, expected) in cases {
            let split = split_name(name).ok();
            assert_eq!(split, expected, "{}", name.escape_ascii());
            if let Some((index, suffix)) = split {
                assert_eq!(full_name(index, suffix).as_deref(), Some(name));
            }
        }
        assert_eq!(full_name(5, b"x"), None);
        assert_eq!(full_name(2, b"x"), None);
    }
}
