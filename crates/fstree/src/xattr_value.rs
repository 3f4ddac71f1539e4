/// Returns true if a kernel sets this value of the xattr `name`, and returns it. Capabilities and
/// access control lists have a form; all other xattrs may have any value.
///
/// ```
/// assert!(fstree::is_xattr_value(b"user.note", b"any"));
/// assert!(!fstree::is_xattr_value(b"security.capability", b"any"));
/// ```
#[must_use]
pub fn is_xattr_value(name: &[u8], value: &[u8]) -> bool {
    match name {
        b"security.capability" => is_capability(value),
        b"system.posix_acl_access" | b"system.posix_acl_default" => is_list(value),
        _ => true,
    }
}

/// Returns true for a `vfs_cap_data` of revision 2 or a `vfs_ns_cap_data` of revision 3. The
/// structures are in linux/capability.h; `cap_convert_nscap` checks them in the same way.
fn is_capability(value: &[u8]) -> bool {
    let revision = value
        .first_chunk()
        .map(|magic| u32::from_le_bytes(*magic) >> 24);
    matches!((revision, value.len()), (Some(2), 20) | (Some(3), 24))
}

/// Returns true for a list that `posix_acl_from_xattr` and `posix_acl_valid` accept. It has version
/// 2, then entries of tag, permissions and identifier (linux/posix_acl_xattr.h) in the order of
/// their tags.
fn is_list(value: &[u8]) -> bool {
    const USER_OBJ: u16 = 0x01;
    const USER: u16 = 0x02;
    const GROUP_OBJ: u16 = 0x04;
    const GROUP: u16 = 0x08;
    const MASK: u16 = 0x10;
    const OTHER: u16 = 0x20;
    let Some(entries) = value.strip_prefix(&2_u32.to_le_bytes()) else {
        return false;
    };
    let (entries, rest) = entries.as_chunks::<8>();
    let tag = |entry: &[u8; 8]| u16::from_le_bytes([entry[0], entry[1]]);
    let permissions = |entry: &[u8; 8]| u16::from_le_bytes([entry[2], entry[3]]);
    let count = |wanted| entries.iter().filter(|entry| tag(entry) == wanted).count();
    let known = [USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER];
    let is_known = |entry| known.contains(&tag(entry)) && permissions(entry) <= 7;
    let masks = count(MASK);
    rest.is_empty()
        && entries.iter().all(is_known)
        && entries.is_sorted_by_key(tag)
        && [USER_OBJ, GROUP_OBJ, OTHER].map(count) == [1; 3]
        && (masks == 1 || masks == 0 && count(USER) + count(GROUP) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_no_kernel_takes_are_refused() {
        let entry = |tag: u8, permissions: u8| [tag, 0, permissions, 0, 255, 255, 255, 255];
        let list = |entries: &[[u8; 8]]| [&[2, 0, 0, 0][..], entries.as_flattened()].concat();
        let (user, group, other) = (entry(1, 6), entry(4, 4), entry(32, 0));
        let least = list(&[user, group, other]);
        let named = list(&[user, entry(2, 4), group, entry(16, 4), other]);
        let capability = |revision: u8, length| [vec![1, 0, 0, revision], vec![0; length]].concat();
        let acl = "system.posix_acl_access";
        let table = [
            ("security.capability", capability(2, 16), true),
            ("security.capability", capability(3, 20), true),
            ("security.capability", capability(1, 8), false),
            ("security.capability", capability(2, 20), false),
            ("security.capability", b"bad".to_vec(), false),
            (acl, least.clone(), true),
            (acl, named, true),
            (acl, list(&[]), false),
            (acl, list(&[user, group]), false),
            (acl, list(&[group, user, other]), false),
            (acl, list(&[user, user, group, other]), false),
            (acl, list(&[user, entry(2, 4), group, other]), false),
            (acl, list(&[user, group, entry(32, 8)]), false),
            (acl, list(&[user, group, entry(64, 0)]), false),
            (acl, least[..12].to_vec(), false),
            (acl, least[..27].to_vec(), false),
            (acl, [&[1, 0, 0, 0][..], &least[4..]].concat(), false),
            ("user.any", b"bad".to_vec(), true),
        ];
        for (name, value, is_valid) in table {
            let found = is_xattr_value(name.as_bytes(), &value);
            assert_eq!(found, is_valid, "{name}: {value:?}");
        }
    }
}
