use std::collections::HashMap;

use fstree::{Device, FileKind, Inode, InodeId, Metadata, Name, Tree};

use crate::attributes::OPAQUE;

/// Adds to the tree of an upper disk the directory that makes overlayfs show `wanted` over `image`, and
/// gives it, still without a name.
///
/// `wanted` is `image` changed: inodes that both have, at the same places of the arena, are the
/// image's. Of those only directories may differ, in names and metadata; they are merged. All others
/// are new. `content` gives a new file's.
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
    /// Which of the wanted inodes the upper has, by their places.
    changed: Vec<bool>,
    upper: &'a mut Tree<C>,
    /// New files, which may have several names.
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

    /// The upper's inode of a wanted one.
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

    /// Takes a name of the image's away.
    fn hide(&mut self, directory: InodeId, name: &Name) {
        let whiteout = self.upper.add(Inode {
            metadata: Metadata::with_mode(0),
            kind: FileKind::CharDevice(Device { major: 0, minor: 0 }),
        });
        self.upper.link(directory, name.clone(), whiteout);
    }
}

/// Which inodes differ from the image's, or have something below them that does.
fn changed<L, W>(image: &Tree<L>, wanted: &Tree<W>) -> Vec<bool> {
    let mut links: Vec<_> = wanted.links().map(|link| (link.parent, link.id)).collect();
    let mut changed = vec![false; wanted.len()];
    let differs = |id: InodeId| {
        id.index() >= image.len()
            || image.inode(id).metadata != wanted.inode(id).metadata
            || names(image, id) != wanted.directory(id)
    };
    // Children before their parents.
    links.reverse();
    for (parent, id) in links {
        changed[id.index()] |= differs(id);
        changed[parent.index()] |= changed[id.index()];
    }
    changed
}

/// The image's names in a directory, if it is one of the image's.
fn names<L>(image: &Tree<L>, id: InodeId) -> Option<&fstree::Directory> {
    match id.index() < image.len() {
        true => image.directory(id),
        false => None,
    }
}

/// What an upper disk stores of an inode of the image's: a guest's ext4 has no access control lists.
pub fn stored(metadata: &Metadata) -> Metadata {
    let mut metadata = metadata.clone();
    metadata
        .xattrs
        .retain(|name, _| !name.starts_with(b"system."));
    metadata
}
