//! An image by itself, as overlayfs shows it below an empty upper disk.

use std::convert::Infallible;

use fstree::{FileData, InodeId, Name, Tree};

use crate::Content;
use crate::attributes::{has_own, is_whiteout, may_hold_file_whiteouts, shown};

/// Returns the image's tree without the names and the xattrs that overlayfs does not show. Inodes
/// keep their identifiers.
pub fn shown_image(lower: Tree<FileData>) -> Tree<Content> {
    let Ok(mut tree) = lower.try_map(|data| Ok::<_, Infallible>(Content::Lower(data)));
    let (mut whiteouts, mut marked) = (Vec::new(), Vec::new());
    for link in tree.links() {
        let is_marked = may_hold_file_whiteouts(&tree.inode(link.parent).metadata);
        if is_whiteout(tree.inode(link.id), is_marked) {
            whiteouts.push((link.parent, link.name.clone()));
        } else if has_own(&tree.inode(link.id).metadata) {
            marked.push(link.id);
        }
    }
    let root = tree.root();
    marked.extend(has_own(&tree.inode(root).metadata).then_some(root));
    remove(&mut tree, whiteouts);
    for id in marked {
        let metadata = shown(&tree.inode(id).metadata);
        tree.inode_mut(id).metadata = metadata;
    }
    tree
}

fn remove(tree: &mut Tree<Content>, names: Vec<(InodeId, Name)>) {
    for (directory, name) in names {
        tree.unlink(directory, name.as_bytes());
    }
}
