use std::collections::VecDeque;

use fstree::{FileKind, InodeId, Tree};

use crate::error::ResolveError;

/// Most symlinks that the kernel follows in one path.
const LINKS_MAX: u32 = 40;

/// Returns the file at a path, as a process sees it whose root and working directory are the tree's
/// root. A slash at the end of the path requires a directory.
///
/// # Errors
/// If the path does not lead to a file.
pub fn resolve<D>(tree: &Tree<D>, path: &[u8], follow_last: bool) -> Result<InodeId, ResolveError> {
    let mut ahead: VecDeque<Vec<u8>> = components(path).collect();
    let asks_for_directory = path.ends_with(b"/") || path.ends_with(b"/.");
    let follow_last = follow_last || asks_for_directory;
    // Directories from the root to the current one.
    let mut parents = Vec::new();
    let mut here = tree.root();
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if tree.directory(here).is_none() {
            return Err(ResolveError::NotDirectory);
        }
        match &name[..] {
            b"." => continue,
            b".." => {
                here = parents.pop().unwrap_or(tree.root());
                continue;
            }
            _ => {}
        }
        let found = tree.lookup(here, &name).ok_or(ResolveError::NotFound)?;
        match &tree.inode(found).kind {
            FileKind::Symlink(target) if follow_last || !ahead.is_empty() => {
                links += 1;
                if links > LINKS_MAX {
                    return Err(ResolveError::Loop);
                }
                if target.starts_with(b"/") {
                    parents.clear();
                    here = tree.root();
                }
                let target: Vec<_> = components(target).collect();
                target
                    .into_iter()
                    .rev()
                    .for_each(|name| ahead.push_front(name));
            }
            _ => {
                parents.push(here);
                here = found;
            }
        }
    }
    if asks_for_directory && tree.directory(here).is_none() {
        Err(ResolveError::NotDirectory)
    } else {
        Ok(here)
    }
}

fn components(path: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    path.split(|&byte| byte == b'/')
        .filter(|name| !name.is_empty())
        .map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use fstree::{Inode, Metadata, Name};

    use super::*;

    fn add(tree: &mut Tree<()>, parent: InodeId, name: &str, kind: FileKind<()>) -> InodeId {
        let metadata = Metadata::with_mode(0o755);
        let id = tree.add(Inode { metadata, kind });
        tree.link(parent, Name::new(name.as_bytes()).expect("a name"), id);
        id
    }

    #[test]
    fn paths_lead_where_the_kernel_goes() {
        let mut tree: Tree<()> = Tree::new(Metadata::directory(0o755));
        let root = tree.root();
        let link = |target: &str| FileKind::Symlink(target.as_bytes().into());
        let d = add(
            &mut tree,
            root,
            "d",
            FileKind::Directory(Default::default()),
        );
        let f = add(&mut tree, d, "f", FileKind::Regular(()));
        let l = add(&mut tree, root, "l", link("d"));
        add(&mut tree, d, "up", link("../d/f"));
        add(&mut tree, d, "root", link("/../d"));
        add(&mut tree, root, "loop", link("loop"));
        let dangling = add(&mut tree, root, "dangling", link("nowhere"));
        let cases = [
            ("/", true, Ok(root)),
            ("..", true, Ok(root)),
            ("d//f", true, Ok(f)),
            ("l", false, Ok(l)),
            ("l", true, Ok(d)),
            ("l/", false, Ok(d)),
            ("l/.", false, Ok(d)),
            ("l/f", false, Ok(f)),
            ("l/up", true, Ok(f)),
            ("d/root/root/f", true, Ok(f)),
            ("d/f/", true, Err(ResolveError::NotDirectory)),
            ("d/f/..", true, Err(ResolveError::NotDirectory)),
            ("loop", true, Err(ResolveError::Loop)),
            ("loop/x", false, Err(ResolveError::Loop)),
            ("dangling", false, Ok(dangling)),
            ("dangling", true, Err(ResolveError::NotFound)),
            ("x", true, Err(ResolveError::NotFound)),
        ];
        for (path, follow, expected) in cases {
            assert_eq!(resolve(&tree, path.as_bytes(), follow), expected, "{path}");
        }
    }
}
