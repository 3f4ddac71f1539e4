use fstree::{Directory, FileKind, InodeId, Name, Tree};

use crate::layer::resolve;
use crate::limits::Limits;
use crate::markers;

/// What a layer's directories that only markers have made remove from the layers below. Such a
/// directory is none of the image, so it hides nothing on its way: where the layers below have a
/// symlink in its place, the markers hold for what that leads to.
#[derive(Debug, Default)]
pub(crate) struct Removals {
    names: Vec<(InodeId, Name)>,
    /// Directories that lose all that is in them.
    emptied: Vec<InodeId>,
}

impl Removals {
    /// Finds them in the tree of the layers below, before this layer changes anything there.
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

    /// Makes them.
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
    /// The names that lead to the directory that is being looked at.
    way: Vec<Name>,
    found: Removals,
}

/// A directory of the layer that has a counterpart below, and the names that are still to be looked at.
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

    /// Opens a directory of the layer, unless it hides all that the one below has.
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

    /// The directory of the layers below at the end of the way, whose parent is `below`.
    fn counterpart(&self, below: InodeId, id: InodeId) -> Option<InodeId> {
        let child = self.lower.lookup(below, self.way.last()?.as_bytes())?;
        match &self.lower.inode(child).kind {
            FileKind::Directory(_) => Some(child),
            FileKind::Symlink(_) if self.marker_only[id.index()] => {
                // A way without an end, or through a file, leads to nothing that could be removed.
                let place = resolve(self.lower, &self.way, self.limits).ok()?;
                place.missing.is_empty().then(|| place.directory())
            }
            _ => None,
        }
    }
}
