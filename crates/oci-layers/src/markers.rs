//! A layer's changes to the layers below it, as xattrs that no tar can carry. Every `trusted.*`
//! xattr of an archive is dropped.

use fstree::{Device, FileKind, Inode, Metadata, Tree};

/// Marks a character device 0:0: its name is removed from the layers below.
pub const WHITEOUT: &[u8] = b"trusted.msb.whiteout";
/// Marks a directory: the content of the layers below it is hidden.
pub const OPAQUE: &[u8] = b"trusted.overlay.opaque";
/// Marks a directory without an entry in the archive: a lower directory keeps its attributes.
pub const IMPLIED: &[u8] = b"trusted.msb.implied";
/// Marks an empty file: it is another name of the lower file whose path is the value.
pub const HARDLINK: &[u8] = b"trusted.msb.hardlink";

/// The value of a marker that is only present or absent.
const YES: &[u8] = b"y";

/// Sets a marker that is only present or absent.
pub(crate) fn set(metadata: &mut Metadata, marker: &[u8]) {
    set_value(metadata, marker, YES);
}

/// Sets a marker that has a value.
pub(crate) fn set_value(metadata: &mut Metadata, marker: &[u8], value: &[u8]) {
    metadata.xattrs.insert(marker, value);
}

/// Returns true if the marker is present.
pub(crate) fn has(metadata: &Metadata, marker: &[u8]) -> bool {
    metadata.xattrs.contains(marker)
}

/// Removes every marker from the xattrs.
pub(crate) fn strip(metadata: &mut Metadata) {
    for marker in [WHITEOUT, OPAQUE, IMPLIED, HARDLINK] {
        metadata.xattrs.remove(marker);
    }
}

/// Returns the inode that stands for a removed name.
pub(crate) fn whiteout<D>() -> Inode<D> {
    let mut metadata = Metadata::with_mode(0);
    set(&mut metadata, WHITEOUT);
    Inode {
        metadata,
        kind: FileKind::CharDevice(Device { major: 0, minor: 0 }),
    }
}

/// Returns true if the inode stands for a removed name.
pub(crate) fn is_whiteout<D>(inode: &Inode<D>) -> bool {
    let device = Device { major: 0, minor: 0 };
    matches!(&inode.kind, FileKind::CharDevice(found) if *found == device)
        && has(&inode.metadata, WHITEOUT)
}

/// Returns the attributes of a directory without an entry in the archive.
pub(crate) fn implied_directory() -> Metadata {
    let mut metadata = Metadata::directory(0o755);
    set(&mut metadata, IMPLIED);
    metadata
}

/// Finds the directories of a layer's tree that exist only because of markers. The archive has no
/// entry for them, nor for anything in them. They remove names of the layers below and are not
/// directories of the image. The result is by `InodeId::index`.
pub(crate) fn marker_only<D>(tree: &Tree<D>) -> Vec<bool> {
    let is_implied =
        |inode: &Inode<D>| inode.kind.as_directory().is_some() && has(&inode.metadata, IMPLIED);
    let mut marker_only: Vec<bool> = vec![false; tree.len()];
    let mut links: Vec<_> = tree.links().map(|link| (link.parent, link.id)).collect();
    for (_, id) in &links {
        marker_only[id.index()] = is_implied(tree.inode(*id));
    }
    // Children come before their parents.
    links.reverse();
    for (parent, id) in links {
        if !marker_only[id.index()] && !is_whiteout(tree.inode(id)) {
            marker_only[parent.index()] = false;
        }
    }
    marker_only
}
