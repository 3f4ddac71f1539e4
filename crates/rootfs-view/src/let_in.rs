//! Files of the host that were let into staged directories after these were staged: a part of what the
//! sandbox's changes are compared with.

use std::collections::HashMap;

use fstree::{FileKind, Inode, InodeId, Tree};

use crate::Content;
use crate::merge::Merged;

/// Files that were let in together, and the device that their content is on.
pub(crate) struct Given<'a> {
    pub(crate) tree: &'a Tree<Content>,
    pub(crate) device: u16,
}

/// A directory in the three trees.
#[derive(Clone, Copy)]
struct Place {
    given: InodeId,
    base: InodeId,
    sandbox: InodeId,
}

impl Given<'_> {
    /// Adds the files to a base wherever the sandbox has a file of its own. Where it has none, it was removed or
    /// taken back, and where it has that of the image, it was not let in: this is no change of the sandbox.
    pub(crate) fn add_to(&self, base: &mut Tree<Content>, sandbox: &Merged) {
        let mut added = HashMap::new();
        let mut due = vec![Place {
            given: self.tree.root(),
            base: base.root(),
            sandbox: sandbox.tree.root(),
        }];
        while let Some(place) = due.pop() {
            let Some(names) = self.tree.directory(place.given) else {
                continue;
            };
            for (name, &given) in names {
                let Some(found) = sandbox.tree.lookup(place.sandbox, name.as_bytes()) else {
                    continue;
                };
                let is_own = sandbox.origins[found.index()].is_upper;
                let inode = self.tree.inode(given);
                let known = base.lookup(place.base, name.as_bytes());
                let known = known.filter(|id| base.directory(*id).is_some());
                let known = match (&inode.kind, known) {
                    (FileKind::Directory(_), Some(known)) => {
                        // A denied directory has mode 0, and nothing in it.
                        if is_own && base.inode(known).metadata.mode == 0 {
                            base.inode_mut(known).metadata = inode.metadata.clone();
                        }
                        known
                    }
                    _ if !is_own => continue,
                    _ => {
                        let add = || self.inode(inode);
                        let id = *added.entry(given).or_insert_with(|| base.add(add()));
                        base.link(place.base, name.clone(), id);
                        id
                    }
                };
                due.push(Place {
                    given,
                    base: known,
                    sandbox: found,
                });
            }
        }
    }

    /// Returns an inode of the base, a directory without its names.
    fn inode(&self, inode: &Inode<Content>) -> Inode<Content> {
        let kind = match &inode.kind {
            FileKind::Directory(_) => return Inode::directory(inode.metadata.clone()),
            FileKind::Regular(Content::Lower(data)) => {
                let mut data = data.clone();
                for extent in &mut data.extents {
                    extent.device = self.device;
                }
                FileKind::Regular(Content::Lower(data))
            }
            kind => kind.clone(),
        };
        Inode {
            metadata: inode.metadata.clone(),
            kind,
        }
    }
}
