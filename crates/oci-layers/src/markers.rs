//! What a layer says about the layers below it, written as xattrs that no tar can carry: every
//! `trusted.*` xattr of an archive is dropped.

use fstree::{Device, FileKind, Inode, Metadata};

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
