use fstree::Xattrs;
use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

use super::{SharedXattrs, filter_bit, push_entry, split_name};
use crate::error::InvalidInode;
use crate::format::XattrIbodyHeader;

/// Most bytes of an xattr area: `i_xattr_icount` has 16 bits and starts at 1.
const BODY_MAX_BYTES: usize = 12 + 4 * 65_534;

/// Encodes the xattr area that follows an inode: header, shared identifiers, inline entries. It is
/// empty without attributes.
pub(crate) fn encode_body(
    xattrs: &Xattrs,
    shared: &SharedXattrs<'_>,
) -> Result<Vec<u8>, InvalidInode> {
    if xattrs.is_empty() {
        return Ok(Vec::new());
    }
    let mut header = XattrIbodyHeader {
        h_name_filter: U32::new(filter_of(xattrs)?),
        h_shared_count: 0,
        h_reserved2: [0; 7],
    };
    let mut identifiers = Vec::new();
    let mut entries = Vec::new();
    for (name, value) in xattrs {
        match shared.identifier(name, value) {
            Some(identifier) if header.h_shared_count < u8::MAX => {
                header.h_shared_count += 1;
                identifiers.push(U32::new(identifier));
            }
            _ => push_entry(&mut entries, name, value)?,
        }
    }
    let body = [header.as_bytes(), identifiers.as_bytes(), &entries].concat();
    if body.len() > BODY_MAX_BYTES {
        return Err(InvalidInode::XattrTotal {
            length_bytes: body.len(),
        });
    }
    Ok(body)
}

/// Returns `h_name_filter`: all ones, except for the bits of the names that are present.
pub(crate) fn filter_of(xattrs: &Xattrs) -> Result<u32, InvalidInode> {
    xattrs.names().try_fold(u32::MAX, |filter, name| {
        let (index, suffix) = split_name(name)?;
        Ok(filter & !filter_bit(index, suffix))
    })
}

#[cfg(test)]
mod tests {
    use fstree::{Metadata, Tree};

    use super::*;

    /// Returns the attributes that the inodes share.
    fn shared<'a>(inodes: &[&'a Xattrs]) -> SharedXattrs<'a> {
        let root = Tree::<()>::new(Metadata::default()).root();
        SharedXattrs::plan(inodes.iter().map(|&xattrs| (root, xattrs))).expect("valid")
    }

    fn xattrs(pairs: &[(&str, &[u8])]) -> Xattrs {
        pairs.iter().copied().collect()
    }

    #[test]
    fn what_repeats_is_shared_and_the_rest_is_inline() {
        let first = xattrs(&[("user.a", b"same"), ("user.b", b"one")]);
        let second = xattrs(&[("user.a", b"same"), ("user.b", b"two")]);
        let shared = shared(&[&first, &second]);
        assert_eq!(shared.area(), b"\x01\x01\x04\x00asame\0\0\0");
        let body = encode_body(&first, &shared).expect("valid");
        assert_eq!(body[4], 1, "one shared");
        assert_eq!(&body[12..16], &[0; 4], "at the area's start");
        assert_eq!(&body[16..], b"\x01\x01\x03\x00bone");
    }

    #[test]
    fn no_more_than_255_are_shared() {
        let many: Xattrs = (0..300).map(|n| (format!("user.{n:03}"), "v")).collect();
        let shared = shared(&[&many, &many]);
        let body = encode_body(&many, &shared).expect("valid");
        assert_eq!(body[4], 255);
        assert_eq!(body.len(), 12 + 255 * 4 + 45 * 8);
    }

    #[test]
    fn too_much_is_refused() {
        let value = vec![0; 65_535];
        let names = ["user.a", "user.b", "user.c", "user.d"];
        let four: Xattrs = names.map(|name| (name, &value)).into_iter().collect();
        let shared = shared(&[&four]);
        assert!(matches!(
            encode_body(&four, &shared),
            Err(InvalidInode::XattrTotal { .. })
        ));
    }
}
