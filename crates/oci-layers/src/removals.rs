use fstree::{Directory, FileKind, InodeId, Name, Tree};

use crate::layer::resolve;
use crate::limits::Limits;
use crate::markers;

/// The names that a layer removes in directories that exist only because of markers. Such a
/// directory is not part of the image, so it hides nothing. If the layers below have a symlink in
/// its place, the markers apply to the symlink's target.
#[derive(Debug, Default)]
pub(crate) struct Removals {
    names: Vec<(InodeId, Name)>,
    /// The directories that lose all of their entries.
    emptied: Vec<InodeId>,
}

impl Removals {
    /// Finds the removals in the tree of the layers below, which this layer must not have changed.
    pub(crate) fn find<L, D>(
        lower: &Tree<L>,
        layer: &Tree<D>,
        marker_only: &[bool],
        limits: &Limits,
    ) -> Self {
        let mut search = Search {
            lower,
            layer,
            marker_only,
            limits,
            way: Vec::new(),
            found: Self::default(),
        };
        if marker_only.contains(&true) {
            search.run();
        }
        search.found
    }

    /// Applies the removals to the lower tree.
    pub(crate) fn apply<L>(self, lower: &mut Tree<L>) {
        for (directory, name) in self.names {
            lower.unlink(directory, name.as_bytes());
        }
        for directory in self.emptied {
            lower.inode_mut(directory).kind = FileKind::Directory(Directory::new());
        }
    }
}

struct Search<'a, L, D> {
    lower: &'a Tree<L>,
    layer: &'a Tree<D>,
    marker_only: &'a [bool],
    limits: &'a Limits,
    /// The path of the directory that is being read.
    way: Vec<Name>,
    found: Removals,
}

/// A directory of the layer with a counterpart below, and its entries that are not read yet.
struct Open<'a> {
    below: InodeId,
    is_marker_only: bool,
    names: std::collections::btree_map::Iter<'a, Name, InodeId>,
}

impl<'a, L, D> Search<'a, L, D> {
    fn run(&mut self) {
        let mut open: Vec<Open<'a>> = Vec::new();
        open.extend(self.enter(self.layer.root(), self.lower.root()));
        while let Some(last) = open.last_mut() {
            let (below, is_marker_only) = (last.below, last.is_marker_only);
            let Some((name, &id)) = last.names.next() else {
                open.pop();
                self.way.pop();
                continue;
            };
            if self.layer.directory(id).is_none() {
                if is_marker_only {
                    self.found.names.push((below, name.clone()));
                }
                continue;
            }
            self.way.push(name.clone());
            let counterpart = self.counterpart(below, id);
            match counterpart.and_then(|counterpart| self.enter(id, counterpart)) {
                Some(inner) => open.push(inner),
                None => drop(self.way.pop()),
            }
        }
    }

    /// Opens a directory of the layer. `None` if it hides everything in its counterpart.
    fn enter(&mut self, id: InodeId, below: InodeId) -> Option<Open<'a>> {
        let is_marker_only = self.marker_only[id.index()];
        if markers::has(&self.layer.inode(id).metadata, markers::OPAQUE) {
            if is_marker_only {
                self.found.emptied.push(below);
            }
            return None;
        }
        Some(Open {
            below,
            is_marker_only,
            names: self.layer.directory(id)?.iter(),
        })
    }

    /// Returns the lower directory at the end of the path, whose parent is `below`. `None` if there
    /// is none.
    fn counterpart(&self, below: InodeId, id: InodeId) -> Option<InodeId> {
        let child = self.lower.lookup(below, self.way.last()?.as_bytes())?;
        match &self.lower.inode(child).kind {
            FileKind::Directory(_) => Some(child),
            FileKind::Symlink(_) if self.marker_only[id.index()] => {
                // An endless path, or a path through a file, leads to nothing that could be
                // removed.
                let place = resolve(self.lower, &self.way, self.limits).ok()?;
                place.missing.is_empty().then(|| place.directory())
            }
            _ => None,
        }
    }
}
