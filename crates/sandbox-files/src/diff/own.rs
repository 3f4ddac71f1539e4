//! The files that msb itself puts into a sandbox: empty mount points.

use std::collections::HashSet;

use fstree::{FileKind, InodeId, ReadAt};
use msb_runtime::Mount;
use rootfs_view::{View, resolve};

/// Directories that the agent makes if an image lacks them: mount points, the parent of `/run/msb`, and
/// `/tmp` (`mounts.rs` in the agent).
const DIRECTORIES: [&str; 5] = ["/proc", "/sys", "/dev", "/run", TMP];
/// The directory that everybody may write to.
const TMP: &str = "/tmp";
/// The files that the agent mounts over (`host_files.rs` in the agent).
const FILES: [&str; 3] = ["/etc/hosts", "/etc/hostname", "/etc/resolv.conf"];

/// Returns the inodes that exist only because something was mounted there: empty files and
/// directories with the attributes that the agent gives them, and the directories above that hold
/// nothing else.
pub(super) fn own_inodes<R: ReadAt>(view: &View<R>, mounts: &[Mount]) -> HashSet<InodeId> {
    let targets = mounts.iter().map(|mount| mount.target.as_str());
    let mut paths: Vec<&str> = DIRECTORIES
        .into_iter()
        .chain(FILES)
        .chain(targets)
        .collect();
    // A mount below another one comes first, so that its directory is known when the other's is met.
    paths.sort_by_key(|path| std::cmp::Reverse(path.matches('/').count()));
    let mut own = HashSet::new();
    let mut above: Vec<&str> = Vec::new();
    for path in &paths {
        above.extend(path.match_indices('/').map(|(end, _)| &path[..end]));
        add(view, path, &mut own);
    }
    above.sort_by_key(|path| std::cmp::Reverse(path.matches('/').count()));
    for path in above {
        add(view, path, &mut own);
    }
    own
}

/// Adds the file at a path if it was made to be mounted over.
fn add<R: ReadAt>(view: &View<R>, path: &str, own: &mut HashSet<InodeId>) {
    let tree = view.tree();
    let Ok(id) = resolve(tree, path.as_bytes(), true) else {
        return;
    };
    let (inode, origin) = (tree.inode(id), view.origin(id));
    let mode = match &inode.kind {
        FileKind::Directory(names) if !names.values().all(|id| own.contains(id)) => return,
        FileKind::Directory(_) if path == TMP => 0o1777,
        FileKind::Directory(_) => 0o755,
        FileKind::Regular(content) if content.size_bytes() == 0 => 0o644,
        _ => return,
    };
    let metadata = &inode.metadata;
    let is_new = origin.is_upper && origin.lower.is_none() && id != tree.root();
    let is_plain = (metadata.uid, metadata.gid, metadata.mode) == (0, 0, mode);
    if is_new && is_plain && metadata.xattrs.is_empty() {
        own.insert(id);
    }
}
