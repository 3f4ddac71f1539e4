use std::collections::{BTreeSet, HashMap, HashSet};

use fstree::{Directory, FileKind, Inode, InodeId, Name, ReadAt, Tree};
use rootfs_view::{Content, View};
use tree_diff::Scope;

use super::DiscardError;

/// Returns the tree that a sandbox has once its changes in the scope are taken back: a changed image,
/// in the form that [`rootfs_view::layer`] takes. Inodes of the image keep their identifiers at the
/// path that they have in the image; everything else is new.
pub(super) fn wanted<R: ReadAt>(
    view: &View<R>,
    scope: &Scope,
) -> Result<Tree<Content>, DiscardError> {
    let mut builder = Builder {
        view,
        scope,
        tree: view.image().clone(),
        links: Vec::new(),
        path: Vec::new(),
    };
    builder.walk()?;
    Ok(builder.finish())
}

struct Builder<'a, R> {
    view: &'a View<R>,
    scope: &'a Scope,
    tree: Tree<Content>,
    /// Names of files, which are added last.
    links: Vec<FileLink>,
    /// The path of the current name.
    path: Vec<u8>,
}

/// A name of a file that is not a directory.
struct FileLink {
    parent: InodeId,
    name: Name,
    file: File,
    /// The image's inode if the file is unchanged, and is where the image has it.
    in_place: Option<InodeId>,
}

/// A file of one of the two trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum File {
    Sandbox(InodeId),
    Image(InodeId),
}

/// A directory whose names are still to be added.
struct OpenDirectory {
    /// The directory of the image at this path, and that of the sandbox; `None` if there is none, or
    /// it is not used.
    image: Option<InodeId>,
    sandbox: Option<InodeId>,
    wanted: InodeId,
    /// True if the wanted directory is the image's inode.
    is_in_place: bool,
    names: std::collections::btree_set::IntoIter<Name>,
    path_bytes: usize,
}

impl<R: ReadAt> Builder<'_, R> {
    fn walk(&mut self) -> Result<(), DiscardError> {
        let root = self.tree.root();
        if self.scope.contains(b"/") {
            return Ok(());
        }
        let sandbox = self.view.tree();
        self.tree.inode_mut(root).metadata = sandbox.inode(sandbox.root()).metadata.clone();
        let mut open = vec![self.open(Some(root), Some(sandbox.root()), root, true)];
        while let Some(directory) = open.last_mut() {
            let Some(name) = directory.names.next() else {
                open.pop();
                continue;
            };
            self.path.truncate(directory.path_bytes);
            self.path.push(b'/');
            self.path.extend_from_slice(name.as_bytes());
            let inner = self.add(directory, name)?;
            open.extend(inner);
        }
        Ok(())
    }

    /// Adds a name. Returns the directory to enter; `None` if there is none.
    fn add(
        &mut self,
        directory: &OpenDirectory,
        name: Name,
    ) -> Result<Option<OpenDirectory>, DiscardError> {
        let (image, sandbox) = (self.view.image(), self.view.tree());
        let below = directory
            .image
            .and_then(|id| image.lookup(id, name.as_bytes()));
        let above = directory
            .sandbox
            .and_then(|id| sandbox.lookup(id, name.as_bytes()));
        if directory.sandbox.is_none() || self.scope.contains(&self.path) {
            return Ok(below.and_then(|id| self.add_image(directory, name, id)));
        }
        let is_above = self.scope.is_below(&self.path);
        let inner = above.filter(|&id| sandbox.directory(id).is_some());
        if is_above && inner.is_none() && below.is_some_and(|id| image.directory(id).is_some()) {
            return Err(DiscardError::NoDirectory {
                path: self.path.clone(),
            });
        }
        Ok(above.and_then(|id| self.add_sandbox(directory, name, id, below)))
    }

    /// Adds a file of the image.
    fn add_image(
        &mut self,
        directory: &OpenDirectory,
        name: Name,
        id: InodeId,
    ) -> Option<OpenDirectory> {
        let inode = self.view.image().inode(id);
        if inode.kind.as_directory().is_none() {
            self.links.push(FileLink {
                parent: directory.wanted,
                name,
                file: File::Image(id),
                in_place: directory.is_in_place.then_some(id),
            });
            return None;
        }
        if directory.is_in_place {
            self.tree.link(directory.wanted, name, id);
            return None;
        }
        let made = self.tree.add(Inode::directory(inode.metadata.clone()));
        self.tree.link(directory.wanted, name, made);
        Some(self.open(Some(id), None, made, false))
    }

    /// Adds a file of the sandbox; the image has `below` at the same path.
    fn add_sandbox(
        &mut self,
        directory: &OpenDirectory,
        name: Name,
        id: InodeId,
        below: Option<InodeId>,
    ) -> Option<OpenDirectory> {
        let (inode, origin) = (self.view.tree().inode(id), self.view.origin(id));
        let same = below.filter(|_| directory.is_in_place && origin.lower == below);
        if inode.kind.as_directory().is_none() {
            self.links.push(FileLink {
                parent: directory.wanted,
                name,
                file: File::Sandbox(id),
                in_place: same.filter(|_| !origin.is_upper),
            });
            return None;
        }
        let made = if let Some(same) = same {
            self.tree.inode_mut(same).metadata = inode.metadata.clone();
            same
        } else {
            self.tree.add(Inode::directory(inode.metadata.clone()))
        };
        self.tree.link(directory.wanted, name, made);
        let below = below.filter(|&id| self.view.image().directory(id).is_some());
        Some(self.open(below, Some(id), made, same.is_some()))
    }

    /// Empties a directory, whose names are then added.
    fn open(
        &mut self,
        image: Option<InodeId>,
        sandbox: Option<InodeId>,
        wanted: InodeId,
        is_in_place: bool,
    ) -> OpenDirectory {
        self.tree.inode_mut(wanted).kind = FileKind::Directory(Directory::new());
        let below = image.and_then(|id| self.view.image().directory(id));
        let above = sandbox.and_then(|id| self.view.tree().directory(id));
        let names = below
            .into_iter()
            .chain(above)
            .flat_map(|names| names.keys());
        let names: BTreeSet<Name> = names.cloned().collect();
        OpenDirectory {
            image,
            sandbox,
            wanted,
            is_in_place,
            names: names.into_iter(),
            path_bytes: self.path.len(),
        }
    }

    /// Adds the names of the files. A file with a name that it does not have in the image is new
    /// under all its names, so that they stay names of one file.
    fn finish(mut self) -> Tree<Content> {
        let links = std::mem::take(&mut self.links);
        let moved: HashSet<File> = links
            .iter()
            .filter(|link| link.in_place.is_none())
            .map(|link| link.file)
            .collect();
        let mut made: HashMap<File, InodeId> = HashMap::new();
        for link in links {
            let id = match link.in_place.filter(|_| !moved.contains(&link.file)) {
                Some(id) => id,
                None => *made.entry(link.file).or_insert_with(|| {
                    let inode = match link.file {
                        File::Sandbox(id) => self.view.tree().inode(id),
                        File::Image(id) => self.view.image().inode(id),
                    };
                    self.tree.add(inode.clone())
                }),
            };
            self.tree.link(link.parent, link.name, id);
        }
        self.tree
    }
}
