use fstree::{FileType, Xattrs};

use super::note::NoteReason;

/// Keeps the xattrs that an image may set on a file of this type, and says which it may not.
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
