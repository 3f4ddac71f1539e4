use fstree::{FileType, Xattrs, is_xattr_value};

use super::note::NoteReason;
use crate::error::InvalidEntry;

/// Longest name and longest value of an xattr, in bytes: Linux's `XATTR_NAME_MAX`, and 16 bits of
/// length in EROFS.
const NAME_MAX_BYTES: usize = 255;
const VALUE_MAX_BYTES: usize = 65_535;

/// Keeps the xattrs that an image may set on a file of this type, and reports the others.
pub(crate) fn filter(
    xattrs: &mut Xattrs,
    file_type: FileType,
    mut dropped: impl FnMut(NoteReason),
) {
    xattrs.retain(|name, _| match refusal(name, file_type) {
        None => true,
        Some(reason) => {
            dropped(reason);
            false
        }
    });
}

fn refusal(name: &[u8], file_type: FileType) -> Option<NoteReason> {
    let has_content = matches!(file_type, FileType::Regular | FileType::Directory);
    let starts = |prefix: &[u8]| name.len() > prefix.len() && name.starts_with(prefix);
    if starts(b"trusted.") || name.starts_with(b"user.overlay.") {
        return Some(NoteReason::ReservedXattr { name: name.into() });
    }
    let is_placed = if starts(b"user.") {
        has_content
    } else if starts(b"security.") {
        true
    } else {
        match name {
            b"system.posix_acl_access" => file_type != FileType::Symlink,
            b"system.posix_acl_default" => file_type == FileType::Directory,
            _ => return Some(NoteReason::UnknownXattr { name: name.into() }),
        }
    };
    (!is_placed).then(|| NoteReason::MisplacedXattr { name: name.into() })
}

/// Refuses xattrs that no kernel would set, and would therefore not return either.
pub(crate) fn check(xattrs: &Xattrs) -> Result<(), InvalidEntry> {
    for (name, value) in xattrs {
        if name.len() > NAME_MAX_BYTES || value.len() > VALUE_MAX_BYTES {
            return Err(InvalidEntry::LongXattr { name: name.into() });
        }
        if !is_xattr_value(name, value) {
            return Err(InvalidEntry::XattrValue { name: name.into() });
        }
    }
    Ok(())
}
