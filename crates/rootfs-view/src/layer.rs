use std::collections::HashMap;

use fstree::{Device, FileKind, Inode, InodeId, Metadata, Name, Tree};

use crate::attributes::{OPAQUE, escaped};

/// Adds to the tree of an upper disk the directory that makes overlayfs show `wanted` over `image`.
/// Returns the directory, which has no name yet.
///
/// `wanted` is a changed `image`: an inode that both have at the same index of the arena is the
/// image's. Of the image's inodes only directories may differ, in names and metadata, and they are
/// merged. All other inodes are new. `content` converts the content of a new file.
pub fn layer<L, W, C>(
    image: &Tree<L>,
    wanted: &Tree<W>,
    content: impl Fn(&W) -> C,
    upper: &mut Tree<C>,
) -> InodeId {
    let metadata = stored(&wanted.inode(wanted.root()).metadata);
    let root = upper.add(Inode::directory(metadata));
    let mut layer = Layer {
        image,
        wanted,
        content,
        changed: changed(image, wanted),
        upper,
        made: HashMap::new(),
    };
    let mut due = vec![(wanted.root(), root)];
    while let Some((id, directory)) = due.pop() {
        layer.fill(id, directory, &mut due);
    }
    root
}

struct Layer<'a, L, W, C, F> {
    image: &'a Tree<L>,
    wanted: &'a Tree<W>,
    content: F,
    /// True for each wanted inode that the upper disk must contain, by arena index.
    changed: Vec<bool>,
    upper: &'a mut Tree<C>,
    /// Upper inodes of new files, which may have several names, by wanted inode.
    made: HashMap<InodeId, InodeId>,
}

impl<L, W, C, F: Fn(&W) -> C> Layer<'_, L, W, C, F> {
    fn fill(&mut self, id: InodeId, directory: InodeId, due: &mut Vec<(InodeId, InodeId)>) {
        let (image, wanted) = (self.image, self.wanted);
        let below = names(image, id);
        let above = wanted.directory(id);
        for name in below.into_iter().flat_map(|names| names.keys()) {
            if above.is_none_or(|names| !names.contains_key(name)) {
                self.hide(directory, name);
            }
        }
        for (name, &id) in above.into_iter().flatten() {
            if !self.changed[id.index()] {
                continue;
            }
            let hidden = below.and_then(|names| names.get(name)).copied();
            let is_opaque =
                hidden.is_some_and(|hidden| hidden != id && image.directory(hidden).is_some());
            let made = self.make(id, is_opaque);
            self.upper.link(directory, name.clone(), made);
            if wanted.directory(id).is_some() {
                due.push((id, made));
            }
        }
    }

    /// Returns the upper inode of a wanted one.
    fn make(&mut self, id: InodeId, is_opaque: bool) -> InodeId {
        if let Some(&made) = self.made.get(&id) {
            return made;
        }
        let inode = self.wanted.inode(id);
        let mut metadata = stored(&inode.metadata);
        let kind = match &inode.kind {
            FileKind::Directory(_) => {
                if is_opaque {
                    metadata.xattrs.insert(OPAQUE, b"y");
                }
                return self.upper.add(Inode::directory(metadata));
            }
            FileKind::Regular(content) => FileKind::Regular((self.content)(content)),
            FileKind::Symlink(target) => FileKind::Symlink(target.clone()),
            FileKind::CharDevice(device) => FileKind::CharDevice(*device),
            FileKind::BlockDevice(device) => FileKind::BlockDevice(*device),
            FileKind::Fifo => FileKind::Fifo,
            FileKind::Socket => FileKind::Socket,
        };
        let made = self.upper.add(Inode { metadata, kind });
        self.made.insert(id, made);
        made
    }

    /// Adds a whiteout that hides a name of the image.
    fn hide(&mut self, directory: InodeId, name: &Name) {
        let whiteout = self.upper.add(Inode {
            metadata: Metadata::with_mode(0),
            kind: FileKind::CharDevice(Device { major: 0, minor: 0 }),
        });
        self.upper.link(directory, name.clone(), whiteout);
    }
}

/// Returns true for each inode that differs from the image's or has such an inode below it, by
/// arena index.
fn changed<L, W>(image: &Tree<L>, wanted: &Tree<W>) -> Vec<bool> {
    let mut links: Vec<_> = wanted.links().map(|link| (link.parent, link.id)).collect();
    let mut changed = vec![false; wanted.len()];
    let differs = |id: InodeId| {
        id.index() >= image.len()
            || image.inode(id).metadata != wanted.inode(id).metadata
            || names(image, id) != wanted.directory(id)
    };
    // Children come before their parents.
    links.reverse();
    for (parent, id) in links {
        changed[id.index()] |= differs(id);
        changed[parent.index()] |= changed[id.index()];
    }
    changed
}

/// Returns the image's names in a directory; `None` if the directory is not the image's.
fn names<L>(image: &Tree<L>, id: InodeId) -> Option<&fstree::Directory> {
    if id.index() < image.len() {
        image.directory(id)
    } else {
        None
    }
}

/// Returns the metadata that an upper disk stores: xattrs of a nested overlayfs have the names that
/// overlayfs gives them.
pub fn stored(metadata: &Metadata) -> Metadata {
    escaped(metadata)
}
