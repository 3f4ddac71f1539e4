//! POSIX access control lists in their two forms: the value of the xattrs `system.posix_acl_*`
//! (uapi/linux/posix_acl_xattr.h), and the on-disk form (fs/ext4/acl.h), which omits undefined ids.

/// `POSIX_ACL_XATTR_VERSION` (uapi/linux/posix_acl_xattr.h).
const XATTR_VERSION: u32 = 2;
/// `EXT4_ACL_VERSION` (fs/ext4/acl.h).
const DISK_VERSION: u32 = 1;
/// `ACL_UNDEFINED_ID`: the tag alone says to whom the entry applies.
const UNDEFINED: u32 = u32::MAX;

/// Kind of an entry, derived from its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A user or a group with a numeric id.
    Named,
    /// The owner, the owning group, the mask or others.
    Unnamed,
}

/// Returns the kind of an `ACL_*` tag (uapi/linux/posix_acl.h); `None` if the tag is unknown.
const fn kind(tag: u16) -> Option<Kind> {
    match tag {
        0x02 | 0x08 => Some(Kind::Named),
        0x01 | 0x04 | 0x10 | 0x20 => Some(Kind::Unnamed),
        _ => None,
    }
}

/// Returns the on-disk form of a list; `None` if `value` is not a valid list or has no entries.
pub(crate) fn to_disk(value: &[u8]) -> Option<Vec<u8>> {
    let entries = value.strip_prefix(&XATTR_VERSION.to_le_bytes())?;
    let (entries, rest) = entries.as_chunks::<8>();
    if entries.is_empty() || !rest.is_empty() {
        return None;
    }
    let mut disk = DISK_VERSION.to_le_bytes().to_vec();
    for entry in entries {
        let [tag, more, permissions @ .., _, _, _, _] = *entry;
        let kind = kind(u16::from_le_bytes([tag, more]))?;
        let shown = match kind {
            Kind::Named => 8,
            Kind::Unnamed if entry[4..] == UNDEFINED.to_le_bytes() => 4,
            Kind::Unnamed => return None,
        };
        if u16::from_le_bytes(permissions) > 7 {
            return None;
        }
        disk.extend_from_slice(&entry[..shown]);
    }
    Some(disk)
}

/// Returns the xattr form of a list; `None` if `disk` is not a valid list.
pub(crate) fn from_disk(disk: &[u8]) -> Option<Vec<u8>> {
    let mut rest = disk.strip_prefix(&DISK_VERSION.to_le_bytes())?;
    let mut value = XATTR_VERSION.to_le_bytes().to_vec();
    while let Some((entry, later)) = rest.split_first_chunk::<4>() {
        value.extend_from_slice(entry);
        let [tag, more, _, _] = *entry;
        match kind(u16::from_le_bytes([tag, more]))? {
            Kind::Named => {
                let (id, later) = later.split_first_chunk::<4>()?;
                value.extend_from_slice(id);
                rest = later;
            }
            Kind::Unnamed => {
                value.extend_from_slice(&UNDEFINED.to_le_bytes());
                rest = later;
            }
        }
    }
    rest.is_empty().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list `user::rwx user:1000:r-- group::r-x mask::r-x other::---`.
    const SHOWN: [u8; 44] = [
        2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 4, 0, 0xe8, 3, 0, 0, 4, 0, 5, 0, 255,
        255, 255, 255, 16, 0, 5, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255,
    ];

    #[test]
    fn lists_go_there_and_back() {
        let disk = to_disk(&SHOWN).expect("a list");
        assert_eq!(disk.len(), 4 + 4 * 4 + 8);
        assert_eq!(from_disk(&disk).as_deref(), Some(&SHOWN[..]));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for cut in 0..SHOWN.len() {
            let is_whole = cut > 4 && (cut - 4).is_multiple_of(8);
            assert_eq!(to_disk(&SHOWN[..cut]).is_some(), is_whole, "{cut}");
        }
        for at in [0, 4, 7] {
            let mut changed = SHOWN;
            changed[at] = 0x40;
            assert_eq!(to_disk(&changed), None, "{at}");
        }
        assert_eq!(from_disk(&[1, 0, 0, 0, 2, 0, 7, 0]), None);
    }
}
