//! The files that msb gives a guest for its secrets and its trust, which are no changes of the sandbox.
//!
//! A guest can put other files in their places, which must not be hidden. So a file is left out by its path, which leads
//! through no symlink, if it has the content and the attributes that msb wrote, and no other name.

use std::collections::HashMap;

use fstree::{FileKind, InodeId, ReadAt};
use msb_guest_trust::{BUNDLE, GivenBundle};
use msb_runtime::Spec;
use rootfs_view::View;

#[cfg(test)]
mod tests;

/// The files that msb gave a guest, and the directories that were made for them, by their paths.
pub(super) type Given = HashMap<Vec<u8>, InodeId>;

/// The content that msb wrote.
enum Written<'a> {
    Bundle(&'a GivenBundle),
    Placeholder(&'a str),
}

impl Written<'_> {
    fn size_bytes(&self) -> u64 {
        match self {
            Self::Bundle(bundle) => bundle.size_bytes,
            Self::Placeholder(text) => u64::try_from(text.len()).unwrap_or(u64::MAX),
        }
    }

    const fn mode(&self) -> u16 {
        match self {
            Self::Bundle(_) => 0o644,
            Self::Placeholder(_) => 0o600,
        }
    }

    fn has(&self, content: &[u8]) -> bool {
        match self {
            Self::Bundle(bundle) => bundle.has(content),
            Self::Placeholder(text) => text.as_bytes() == content,
        }
    }
}

/// Returns the files that a sandbox with this description was given, and the directories that were made for them.
/// `bundle` is the one that it was given, if it was given one.
pub(super) fn given_files<R: ReadAt>(
    view: &View<R>,
    spec: &Spec,
    bundle: Option<&GivenBundle>,
) -> Given {
    let bundle = bundle.map(|bundle| (BUNDLE, Written::Bundle(bundle)));
    let secrets = spec.network.iter().flat_map(|network| &network.secrets);
    let placeholders = secrets.filter_map(|secret| {
        let placeholder = secret.placeholder.as_ref()?;
        let path = secret.file.as_deref()?;
        Some((path, Written::Placeholder(placeholder.as_str())))
    });
    let mut given = Given::new();
    for (path, written) in bundle.into_iter().chain(placeholders) {
        let Some(id) = view.tree().find(path.as_bytes()) else {
            continue;
        };
        if !is_new(view, id) || !is_written(view, id, &written) {
            continue;
        }
        given.insert(path.as_bytes().to_vec(), id);
        // All directories of a native root are the disk's own.
        if !spec.native_root {
            given.extend(new_directories(view, path));
        }
    }
    if !given.is_empty() {
        // Another name of a file would be hidden with it, and could be run.
        let counts = view.tree().link_counts();
        given.retain(|_, id| {
            let is_directory = view.tree().directory(*id).is_some();
            is_directory || counts.get(id.index()) == Some(&1)
        });
    }
    given
}

/// Returns the directories above a path that the image does not have.
fn new_directories<R: ReadAt>(
    view: &View<R>,
    path: &str,
) -> impl Iterator<Item = (Vec<u8>, InodeId)> {
    let above = path.match_indices('/').map(|(end, _)| &path[..end]);
    above.filter_map(|path| {
        let id = view.tree().find(path.as_bytes())?;
        is_new(view, id).then(|| (path.as_bytes().to_vec(), id))
    })
}

/// Returns true if the image has no such file.
fn is_new<R: ReadAt>(view: &View<R>, id: InodeId) -> bool {
    let origin = view.origin(id);
    origin.is_upper && origin.lower.is_none() && id != view.tree().root()
}

/// Returns true if a file is a regular one as msb wrote it.
fn is_written<R: ReadAt>(view: &View<R>, id: InodeId, written: &Written<'_>) -> bool {
    let inode = view.tree().inode(id);
    let FileKind::Regular(content) = &inode.kind else {
        return false;
    };
    let metadata = &inode.metadata;
    let has_attributes = metadata.mode == written.mode() && metadata.xattrs.is_empty();
    if !has_attributes || content.size_bytes() != written.size_bytes() {
        return false;
    }
    let Ok(length) = usize::try_from(content.size_bytes()) else {
        return false;
    };
    let mut found = vec![0; length];
    view.read_at(content, 0, &mut found).is_ok() && written.has(&found)
}
