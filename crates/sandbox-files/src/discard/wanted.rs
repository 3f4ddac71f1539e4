use std::collections::{BTreeSet, HashMap, HashSet};
use std::convert::Infallible;

use fstree::{Directory, FileKind, Inode, InodeId, Name, ReadAt, Tree};
use rootfs_view::{Content, Origin, View};
use tree_diff::Scope;

use super::DiscardError;

/// The content of a file once changes are taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WantedContent {
    /// True if the content is on the base's disks, rather than on those of the sandbox and its image.
    pub(crate) is_of_base: bool,
    pub(crate) content: Content,
}

/// The files that changes are taken back to.
pub(crate) struct BaseTree<'a> {
    pub(crate) tree: &'a Tree<Content>,
    /// Returns the origin of a file over the image of the sandbox.
    pub(crate) origin: &'a dyn Fn(InodeId) -> Origin,
}

/// The changes that are taken back.
pub(crate) struct Taken<'a> {
    /// The paths, with everything below them.
    pub(crate) scope: &'a Scope,
    /// The paths in the scope whose changes are taken back; `None` if it is all of them.
    pub(crate) paths: Option<&'a HashSet<Vec<u8>>>,
}

impl Taken<'_> {
    fn has(&self, path: &[u8]) -> bool {
        let is_chosen = |paths: &HashSet<Vec<u8>>| paths.contains(path);
        self.scope.contains(path) && self.paths.is_none_or(is_chosen)
    }
}

/// Returns the tree that a sandbox has once its changes are taken back: a changed image, in the form that
/// [`rootfs_view::layer`] takes. Inodes of the image keep their identifiers at the path that they have in the
/// image; everything else is new.
pub(crate) fn wanted<R: ReadAt>(
    view: &View<R>,
    base: &BaseTree<'_>,
    taken: &Taken<'_>,
) -> Result<Tree<WantedContent>, DiscardError> {
    let Ok(tree) = view.image().clone().try_map(|content| {
        Ok::<_, Infallible>(WantedContent {
            is_of_base: false,
            content,
        })
    });
    let mut builder = Builder {
        view,
        base,
        taken,
        tree,
        links: Vec::new(),
        path: Vec::new(),
    };
    builder.walk()?;
    Ok(builder.finish())
}

struct Builder<'a, R> {
    view: &'a View<R>,
    base: &'a BaseTree<'a>,
    taken: &'a Taken<'a>,
    tree: Tree<WantedContent>,
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
    Base(InodeId),
}

/// The directories of one path in the three trees; `None` if the tree has no such directory, or is not used.
#[derive(Debug, Clone, Copy, Default)]
struct Below {
    image: Option<InodeId>,
    base: Option<InodeId>,
    sandbox: Option<InodeId>,
}

/// A directory whose names are still to be added.
struct OpenDirectory {
    below: Below,
    wanted: InodeId,
    /// True if the wanted directory is the image's inode.
    is_in_place: bool,
    names: std::collections::btree_set::IntoIter<Name>,
    path_bytes: usize,
}

impl<R: ReadAt> Builder<'_, R> {
    fn walk(&mut self) -> Result<(), DiscardError> {
        let root = self.tree.root();
        let (base, sandbox) = (self.base.tree, self.view.tree());
        let metadata = if self.taken.has(b"/") {
            &base.inode(base.root()).metadata
        } else {
            &sandbox.inode(sandbox.root()).metadata
        };
        self.tree.inode_mut(root).metadata = metadata.clone();
        let below = Below {
            image: Some(self.view.image().root()),
            base: Some(base.root()),
            sandbox: Some(sandbox.root()),
        };
        let mut open = vec![self.open(below, root, true)];
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
        let (image, base, sandbox) = (self.view.image(), self.base.tree, self.view.tree());
        let named = Below {
            image: find(image, directory.below.image, &name),
            base: find(base, directory.below.base, &name),
            sandbox: find(sandbox, directory.below.sandbox, &name),
        };
        if self.taken.has(&self.path) {
            return Ok(named
                .base
                .map(File::Base)
                .and_then(|file| self.put(directory, name, file, named)));
        }
        let is_directory = named
            .sandbox
            .is_some_and(|id| sandbox.directory(id).is_some());
        let was_directory = named.base.is_some_and(|id| base.directory(id).is_some());
        if self.taken.scope.is_below(&self.path) && was_directory && !is_directory {
            return Err(DiscardError::NoDirectory {
                path: self.path.clone(),
            });
        }
        let file = named.sandbox.map(File::Sandbox);
        Ok(file.and_then(|file| self.put(directory, name, file, named)))
    }

    /// Adds a file of one of the trees. `named` has the files of all of them with that name.
    fn put(
        &mut self,
        directory: &OpenDirectory,
        name: Name,
        file: File,
        named: Below,
    ) -> Option<OpenDirectory> {
        let (inode, origin) = match file {
            File::Sandbox(id) => (self.view.tree().inode(id), self.view.origin(id)),
            File::Base(id) => (self.base.tree.inode(id), (self.base.origin)(id)),
        };
        let is_same = directory.is_in_place && origin.lower == named.image;
        let same = named.image.filter(|_| is_same);
        if inode.kind.as_directory().is_none() {
            self.links.push(FileLink {
                parent: directory.wanted,
                name,
                file,
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
        Some(self.open(named, made, same.is_some()))
    }

    /// Empties a directory, whose names are then added.
    fn open(&mut self, named: Below, wanted: InodeId, is_in_place: bool) -> OpenDirectory {
        self.tree.inode_mut(wanted).kind = FileKind::Directory(Directory::new());
        let (image, base, sandbox) = (self.view.image(), self.base.tree, self.view.tree());
        let below = Below {
            image: named.image.filter(|&id| image.directory(id).is_some()),
            base: named.base.filter(|&id| base.directory(id).is_some()),
            sandbox: named.sandbox.filter(|&id| sandbox.directory(id).is_some()),
        };
        let old = below.base.and_then(|id| base.directory(id));
        let new = below.sandbox.and_then(|id| sandbox.directory(id));
        let names = old.into_iter().chain(new).flat_map(|names| names.keys());
        let names: BTreeSet<Name> = names.cloned().collect();
        OpenDirectory {
            below,
            wanted,
            is_in_place,
            names: names.into_iter(),
            path_bytes: self.path.len(),
        }
    }

    /// Adds the names of the files. A file with a name that it does not have in the image is new
    /// under all its names, so that they stay names of one file.
    fn finish(mut self) -> Tree<WantedContent> {
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
                    let (is_of_base, inode) = match link.file {
                        File::Sandbox(id) => (false, self.view.tree().inode(id)),
                        File::Base(id) => (true, self.base.tree.inode(id)),
                    };
                    self.tree.add(copy(inode, is_of_base))
                }),
            };
            self.tree.link(link.parent, link.name, id);
        }
        self.tree
    }
}

fn find<D>(tree: &Tree<D>, directory: Option<InodeId>, name: &Name) -> Option<InodeId> {
    directory.and_then(|id| tree.lookup(id, name.as_bytes()))
}

/// Returns a file of a tree with the disks that its content is on.
fn copy(inode: &Inode<Content>, is_of_base: bool) -> Inode<WantedContent> {
    let kind = match &inode.kind {
        FileKind::Regular(content) => FileKind::Regular(WantedContent {
            is_of_base,
            content: content.clone(),
        }),
        FileKind::Directory(names) => FileKind::Directory(names.clone()),
        FileKind::Symlink(target) => FileKind::Symlink(target.clone()),
        FileKind::CharDevice(device) => FileKind::CharDevice(*device),
        FileKind::BlockDevice(device) => FileKind::BlockDevice(*device),
        FileKind::Fifo => FileKind::Fifo,
        FileKind::Socket => FileKind::Socket,
    };
    Inode {
        metadata: inode.metadata.clone(),
        kind,
    }
}
