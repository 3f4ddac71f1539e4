//! What a layer says about the layers below it, written as xattrs that no tar can carry: every
//! `trusted.*` xattr of an archive is dropped.

use fstree::{Device, FileKind, Inode, Metadata, Tree};

/// On a character device 0:0: the name is removed from the layers below.
pub const WHITEOUT: &[u8] = b"trusted.msb.whiteout";
/// On a directory: nothing below it shows.
pub const OPAQUE: &[u8] = b"trusted.overlay.opaque";
/// On a directory that the archive has no entry for: a lower directory keeps its attributes.
pub const IMPLIED: &[u8] = b"trusted.msb.implied";
/// On an empty file: the path of the lower file that this is another name of.
pub const HARDLINK: &[u8] = b"trusted.msb.hardlink";

/// The value of a marker that only is or is not there.
const YES: &[u8] = b"y";

/// Sets a marker that only is or is not there.
pub(crate) fn set(metadata: &mut Metadata, marker: &[u8]) {
    set_value(metadata, marker, YES);
}

/// Sets a marker that has a value.
pub(crate) fn set_value(metadata: &mut Metadata, marker: &[u8], value: &[u8]) {
    metadata.xattrs.insert(marker, value);
}

/// Whether the marker stands there.
pub(crate) fn has(metadata: &Metadata, marker: &[u8]) -> bool {
    metadata.xattrs.contains(marker)
}

/// Takes every marker away.
pub(crate) fn strip(metadata: &mut Metadata) {
    for marker in [WHITEOUT, OPAQUE, IMPLIED, HARDLINK] {
        metadata.xattrs.remove(marker);
    }
}

/// What stands for a removed name.
pub(crate) fn whiteout<D>() -> Inode<D> {
    let mut metadata = Metadata::with_mode(0);
    set(&mut metadata, WHITEOUT);
    Inode {
        metadata,
        kind: FileKind::CharDevice(Device { major: 0, minor: 0 }),
    }
}

/// Whether this stands for a removed name.
pub(crate) fn is_whiteout<D>(inode: &Inode<D>) -> bool {
    let device = Device { major: 0, minor: 0 };
    matches!(&inode.kind, FileKind::CharDevice(found) if *found == device)
        && has(&inode.metadata, WHITEOUT)
}

/// The attributes of a directory that nobody described.
pub(crate) fn implied_directory() -> Metadata {
    let mut metadata = Metadata::directory(0o755);
    set(&mut metadata, IMPLIED);
    metadata
}

/// Which inodes of a layer's tree, by their places in it, are directories that only markers have
/// made: the archive has no entry for them, nor for anything in them. They remove names of the layers
/// below and are no directories of the image.
pub(crate) fn marker_only<D>(tree: &Tree<D>) -> Vec<bool> {
    let is_implied =
        |inode: &Inode<D>| inode.kind.as_directory().is_some() && has(&inode.metadata, IMPLIED);
    let mut marker_only: Vec<bool> = vec![false; tree.len()];
    let mut links: Vec<_> = tree.links().map(|link| (link.parent, link.id)).collect();
    for (_, id) in &links {
        marker_only[id.index()] = is_implied(tree.inode(*id));
    }
    // Children before their parents.
    links.reverse();
    for (parent, id) in links {
        if !marker_only[id.index()] && !is_whiteout(tree.inode(id)) {
            marker_only[parent.index()] = false;
        }
    }
    marker_only
}
