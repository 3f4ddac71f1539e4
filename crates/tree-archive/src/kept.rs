//! Which xattrs travel.

/// File capabilities.
const CAPABILITY: &[u8] = b"security.capability";

/// Whether an archive has the attribute: what belongs to the file, not to the system that it is on.
pub(crate) fn is_packed(name: &[u8]) -> bool {
    // A PAX key ends with the first `=`.
    (name == CAPABILITY || name.starts_with(b"user.")) && !name.contains(&b'=')
}

/// Whether a file gets the attribute. Capabilities only go with the file's owner.
pub(crate) fn is_unpacked(name: &[u8], keep_owner: bool) -> bool {
    name.starts_with(b"user.") || (name == CAPABILITY && keep_owner)
}
