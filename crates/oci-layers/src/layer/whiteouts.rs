use std::collections::HashSet;

use fstree::{InodeId, Name, Tree};

use crate::markers;

/// The names and directories of the layers below that the layer hides. The position of a marker in
/// the archive does not matter, so the markers are put into the tree at its end.
#[derive(Debug, Default)]
pub(crate) struct Whiteouts {
    names: Vec<(InodeId, Name)>,
    opaque: HashSet<InodeId>,
}

impl Whiteouts {
    /// Adds a whiteout `.wh.NAME` in `directory`.
    pub(crate) fn add(&mut self, directory: InodeId, name: Name) {
        self.names.push((directory, name));
    }

    /// Adds an opaque marker `.wh..wh..opq` in `directory`.
    pub(crate) fn add_opaque(&mut self, directory: InodeId) {
        self.opaque.insert(directory);
    }

    /// Puts the markers into the tree. A name that the layer has itself needs no whiteout: a file
    /// hides the file below it, and a directory is new, so it is opaque. A directory that exists
    /// only because of markers does not count as the layer's own.
    pub(crate) fn settle<D>(self, tree: &mut Tree<D>) {
        let marker_only = if self.names.is_empty() {
            Vec::new()
        } else {
            markers::marker_only(tree)
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
