//! The xattrs that overlayfs uses, and the metadata without them.

use fstree::{Device, FileKind, Inode, Metadata, Xattrs};

/// Prefix of the xattrs that overlayfs uses.
const PREFIX: &[u8] = b"trusted.overlay.";
/// Prefix of xattrs that a nested overlayfs uses; they must not be taken for those of this one.
const ESCAPED: &[u8] = b"trusted.overlay.overlay.";
pub(crate) const OPAQUE: &[u8] = b"trusted.overlay.opaque";
const REDIRECT: &[u8] = b"trusted.overlay.redirect";
const METACOPY: &[u8] = b"trusted.overlay.metacopy";
const WHITEOUT: &[u8] = b"trusted.overlay.whiteout";

/// Returns true if the directory hides the lower directory of the same name.
pub(crate) fn is_opaque(metadata: &Metadata) -> bool {
    metadata.xattrs.get(OPAQUE) == Some(b"y")
}

/// Returns true if the directory may contain whiteouts that are regular files.
pub(crate) fn may_hold_file_whiteouts(metadata: &Metadata) -> bool {
    metadata.xattrs.get(OPAQUE) == Some(b"x")
}

/// Returns true if the file's content is that of the lower file.
pub(crate) fn is_metacopy(metadata: &Metadata) -> bool {
    metadata.xattrs.contains(METACOPY)
}

/// Returns the location of the lower file; `None` if it has the same path as the upper file.
pub(crate) fn redirect(metadata: &Metadata) -> Option<&[u8]> {
    metadata.xattrs.get(REDIRECT)
}

/// Returns true if the inode is a whiteout, which stands for a removed name.
pub(crate) fn is_whiteout<D>(inode: &Inode<D>, in_marked_directory: bool) -> bool {
    match &inode.kind {
        FileKind::CharDevice(device) => *device == Device { major: 0, minor: 0 },
        FileKind::Regular(_) => in_marked_directory && inode.metadata.xattrs.contains(WHITEOUT),
        _ => false,
    }
}

/// Returns true if there are xattrs that overlayfs uses, or that it shows under other names.
pub(crate) fn has_own(metadata: &Metadata) -> bool {
    metadata.xattrs.names().any(is_own)
}

fn is_own(name: &[u8]) -> bool {
    name.starts_with(PREFIX)
}

/// Returns the metadata that a process in the sandbox sees.
pub(crate) fn shown(metadata: &Metadata) -> Metadata {
    let mut metadata = metadata.clone();
    if !has_own(&metadata) {
        return metadata;
    }
    let shown = metadata.xattrs.iter().filter_map(|(name, value)| {
        let name = match name.strip_prefix(ESCAPED) {
            Some(rest) => [PREFIX, rest].concat(),
            None if is_own(name) => return None,
            None => name.to_vec(),
        };
        Some((name, value.to_vec()))
    });
    metadata.xattrs = shown.collect::<Xattrs>();
    metadata
}

/// Returns the metadata as overlayfs stores it: the opposite of [`shown`].
pub(crate) fn escaped(metadata: &Metadata) -> Metadata {
    let mut metadata = metadata.clone();
    if has_own(&metadata) {
        let stored = metadata.xattrs.iter().map(|(name, value)| {
            let name = match name.strip_prefix(PREFIX) {
                Some(rest) => [ESCAPED, rest].concat(),
                None => name.to_vec(),
            };
            (name, value.to_vec())
        });
        metadata.xattrs = stored.collect::<Xattrs>();
    }
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlayfs_keeps_its_own_to_itself() {
        let mut metadata = Metadata::with_mode(0o644);
        metadata.xattrs = Xattrs::from_iter([
            ("trusted.overlay.origin", "x"),
            ("trusted.overlay.overlay.opaque", "y"),
            ("user.note", "n"),
        ]);
        let expected = [("trusted.overlay.opaque", "y"), ("user.note", "n")];
        assert_eq!(shown(&metadata).xattrs, Xattrs::from_iter(expected));
        assert!(!is_opaque(&metadata));
        assert_eq!(shown(&escaped(&shown(&metadata))), shown(&metadata));
    }
}
