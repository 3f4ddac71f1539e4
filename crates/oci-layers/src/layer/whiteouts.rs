use std::collections::HashSet;

use fstree::{InodeId, Name, Tree};

use crate::markers;

/// What the layer hides of the layers below. Where a marker stands in the archive does not matter,
/// so they are put into the tree at its end.
#[derive(Debug, Default)]
pub(crate) struct Whiteouts {
    names: Vec<(InodeId, Name)>,
    opaque: HashSet<InodeId>,
}

impl Whiteouts {
    /// `.wh.NAME` in `directory`.
    pub(crate) fn add(&mut self, directory: InodeId, name: Name) {
        self.names.push((directory, name));
    }

    /// `.wh..wh..opq` in `directory`.
    pub(crate) fn add_opaque(&mut self, directory: InodeId) {
        self.opaque.insert(directory);
    }

    /// Marks the tree. A name that the layer has itself needs no whiteout: a file hides what is
    /// below it, and a directory is new, so it is opaque. A directory that only markers have made is
    /// none that the layer has.
    pub(crate) fn settle<D>(self, tree: &mut Tree<D>) {
        let marker_only = match self.names.is_empty() {
            true => Vec::new(),
            false => markers::marker_only(tree),
        };
        let is_marker_only = |id: InodeId| marker_only.get(id.index()) == Some(&true);
        for (directory, name) in self.names {
            let own = tree.lookup(directory, name.as_bytes());
            match own.filter(|&own| !is_marker_only(own)) {
                None => {
                    let whiteout = tree.add(markers::whiteout());
                    tree.link(directory, name, whiteout);
                }
                Some(own) if tree.directory(own).is_some() => {
                    let metadata = &mut tree.inode_mut(own).metadata;
                    metadata.xattrs.remove(markers::IMPLIED);
                    markers::set(metadata, markers::OPAQUE);
                }
                Some(_) => {}
            }
        }
        for directory in self.opaque {
            markers::set(&mut tree.inode_mut(directory).metadata, markers::OPAQUE);
        }
    }
}
