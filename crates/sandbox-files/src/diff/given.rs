//! The files that msb gives a guest for its secrets and its trust, which are no changes of the sandbox.

use std::collections::HashSet;
use std::iter;

use fstree::{FileKind, InodeId, ReadAt};
use msb_guest_trust::BUNDLE;
use msb_runtime::Spec;
use rootfs_view::View;

/// Returns the inodes of the files that a sandbox with this description was given, and of the directories that were
/// made for them. A placeholder's file that has another content by now is the sandbox's own.
pub(super) fn given_inodes<R: ReadAt>(view: &View<R>, spec: &Spec) -> HashSet<InodeId> {
    let secrets = spec.network.iter().flat_map(|network| &network.secrets);
    let placeholders = secrets.filter_map(|secret| {
        let placeholder = secret.placeholder.as_ref()?;
        Some((secret.file.as_deref()?, Some(placeholder.as_str())))
    });
    let mut given = HashSet::new();
    for (path, text) in iter::once((BUNDLE, None)).chain(placeholders) {
        let Ok(id) = view.resolve(path.as_bytes(), true) else {
            continue;
        };
        if !is_new(view, id) || !has_text(view, id, text) {
            continue;
        }
        given.insert(id);
        // All directories of a native root are the disk's own.
        if !spec.native_root {
            given.extend(new_directories(view, path));
        }
    }
    given
}

/// Returns the directories above a path that the image does not have.
fn new_directories<R: ReadAt>(view: &View<R>, path: &str) -> impl Iterator<Item = InodeId> {
    let above = path.match_indices('/').map(|(end, _)| &path[..end]);
    above.filter_map(|path| {
        let id = view.resolve(path.as_bytes(), true).ok()?;
        let is_directory = view.tree().directory(id).is_some();
        (is_directory && is_new(view, id)).then_some(id)
    })
}

/// Returns true if the image has no such file.
fn is_new<R: ReadAt>(view: &View<R>, id: InodeId) -> bool {
    let origin = view.origin(id);
    origin.is_upper && origin.lower.is_none() && id != view.tree().root()
}

/// Returns true if a regular file has this content, or any if none is given.
fn has_text<R: ReadAt>(view: &View<R>, id: InodeId, text: Option<&str>) -> bool {
    let FileKind::Regular(content) = &view.tree().inode(id).kind else {
        return false;
    };
    let Some(text) = text else {
        return true;
    };
    let length_bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    let mut found = vec![0; text.len()];
    content.size_bytes() == length_bytes
        && view.read_at(content, 0, &mut found).is_ok()
        && found == text.as_bytes()
}
