use fstree::{FileType, Metadata, is_xattr_value};

use super::LayerOptions;

/// Returns the metadata that a layer has of a file. `left_out` is called with the name of each xattr that
/// the layer lacks.
pub(super) fn layered(
    metadata: &Metadata,
    file_type: FileType,
    options: LayerOptions,
    mut left_out: impl FnMut(&[u8]),
) -> Metadata {
    let mut metadata = metadata.clone();
    if let Some(latest) = options.latest_mtime {
        metadata.mtime = metadata.mtime.min(latest);
    }
    metadata.xattrs.retain(|name, value| {
        let is_kept = is_kept(name, file_type) && is_xattr_value(name, value);
        if !is_kept {
            left_out(name);
        }
        is_kept
    });
    metadata
}

/// Returns true if layers have the xattr of this name. overlayfs keeps its state in `trusted.*` and
/// `user.overlay.*`, kernels allow `user.*` on files with content alone, and a PAX key ends at the
/// first `=`.
fn is_kept(name: &[u8], file_type: FileType) -> bool {
    let has_content = matches!(file_type, FileType::Regular | FileType::Directory);
    let is_acl = name == b"system.posix_acl_access"
        || (name == b"system.posix_acl_default" && file_type == FileType::Directory);
    let is_users = name.starts_with(b"user.") && !name.starts_with(b"user.overlay.");
    let is_storable = !name.contains(&b'=') && !name.contains(&0);
    is_storable && (is_acl || (is_users && has_content) || name.starts_with(b"security."))
}
