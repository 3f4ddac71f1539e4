//! The xattrs that an archive carries.

use fstree::Xattrs;

/// The xattr of file capabilities (capabilities(7)).
const CAPABILITY: &[u8] = b"security.capability";

/// Returns the xattrs of a file that an archive carries: `user.*` and file capabilities. They
/// belong to the file and not to the system that it is on.
pub fn packed_xattrs(xattrs: &Xattrs) -> Xattrs {
    let mut packed = xattrs.clone();
    packed.retain(|name, _| is_packed(name));
    packed
}

/// Returns true if an archive carries the xattr of this name.
pub(crate) fn is_packed(name: &[u8]) -> bool {
    // A PAX key ends at the first `=`.
    (name == CAPABILITY || name.starts_with(b"user.")) && !name.contains(&b'=')
}

/// Returns true if an unpacked file gets the xattr of this name. It gets capabilities only together
/// with its owner.
pub(crate) fn is_unpacked(name: &[u8], keep_owner: bool) -> bool {
    name.starts_with(b"user.") || (name == CAPABILITY && keep_owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_file_and_can_be_stored_is_packed() {
        let all = [
            "security.capability",
            "security.selinux",
            "system.posix_acl_access",
            "trusted.overlay.opaque",
            "user.a=b",
            "user.note",
        ];
        let xattrs = Xattrs::from_iter(all.map(|name| (name, "1")));
        let packed = packed_xattrs(&xattrs);
        assert!(
            packed
                .names()
                .eq([&b"security.capability"[..], b"user.note"])
        );
    }
}
