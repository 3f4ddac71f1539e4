use std::collections::{HashMap, HashSet};

use fstree::{Directory, FileKind, Inode, InodeId, Name, Tree};

use crate::attributes::{
    is_metacopy, is_opaque, is_whiteout, may_hold_file_whiteouts, redirect, shown,
};
use crate::error::OpenError;
use crate::staged::{StagedImage, last_name, names_of, plain};
use crate::{Content, Origin, index};

type UpperTree = Tree<ext4_writer::FileData>;
type LowerTree = Tree<fstree::FileData>;

/// The tree that an upper disk and an image make together.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) tree: Tree<Content>,
    /// The origin of each inode, by its index in the tree's arena.
    pub(crate) origins: Vec<Origin>,
}

/// Returns the tree that the upper disk and the image make together. `numbers` are the inode
/// numbers of the lower tree.
pub(crate) fn merge(
    upper: &UpperTree,
    lower: &LowerTree,
    numbers: &[u64],
) -> Result<Merged, OpenError> {
    let upper_root = upper_directory(upper, b"upper")?;
    let lower_root = lower_root(upper, upper_root, lower.root());
    let tree = Tree::new(shown(&upper.inode(upper_root).metadata));
    let origins = vec![Origin::upper(lower_root)];
    let mut merger = Merger::new(upper, (lower, numbers), tree, origins);
    merger.copies = index::copies(upper, b"work/index")?;
    let root = merger.tree.root();
    merger.merge_at(root, upper_root, lower_root)?;
    Ok(merger.finish())
}

/// Returns the tree of the staged directories: each is an overlay of a directory of the upper disk and one
/// of the lower tree. `image` is the tree of the lower files with the same directories above.
pub(crate) fn merge_staged(
    upper: &UpperTree,
    (lower, numbers): (&LowerTree, &[u64]),
    image: &StagedImage,
) -> Result<Merged, OpenError> {
    let root = image.tree.root();
    let tree = Tree::new(image.tree.inode(root).metadata.clone());
    let mut merger = Merger::new(
        upper,
        (lower, numbers),
        tree,
        vec![Origin::upper(Some(root))],
    );
    for (index, mount) in image.mounts.iter().enumerate() {
        let below = format!("staged/{index}");
        let upper_root = upper_directory(upper, format!("{below}/upper").as_bytes())?;
        merger.copies = index::copies(upper, format!("{below}/work/index").as_bytes())?;
        merger.base = mount.directory;
        let lower_root = lower_root(upper, upper_root, mount.directory);
        let parent = merger.directories_above(image, &mount.target)?;
        let directory = Inode::directory(shown(&upper.inode(upper_root).metadata));
        let id = merger.add(directory, Origin::upper(lower_root));
        merger.tree.link(parent, last_name(&mount.target)?, id);
        merger.merge_at(id, upper_root, lower_root)?;
    }
    Ok(merger.finish())
}

/// Returns a directory of the upper disk.
pub(crate) fn upper_directory(upper: &UpperTree, path: &[u8]) -> Result<InodeId, OpenError> {
    let found = upper.find(path).ok_or(OpenError::NoUpper)?;
    upper.directory(found).ok_or(OpenError::NoUpper)?;
    Ok(found)
}

/// Returns the directory below an upper one; `None` if the upper one hides it.
fn lower_root(upper: &UpperTree, upper_root: InodeId, lower_root: InodeId) -> Option<InodeId> {
    (!is_opaque(&upper.inode(upper_root).metadata)).then_some(lower_root)
}

/// A directory of the result, with its upper and its lower directory.
struct Pair {
    id: InodeId,
    upper: Option<InodeId>,
    lower: Option<InodeId>,
}

struct Merger<'a> {
    upper: &'a UpperTree,
    lower: &'a LowerTree,
    tree: Tree<Content>,
    /// The origins of the tree's inodes, by arena index.
    origins: Vec<Origin>,
    /// Inodes of the result for files that were added, so that their other names find them.
    from_upper: HashMap<InodeId, InodeId>,
    from_lower: HashMap<InodeId, InodeId>,
    /// Upper files by the inode number of the lower file that each is a copy of.
    copies: HashMap<u64, InodeId>,
    /// Inode numbers of the lower tree, by arena index.
    numbers: &'a [u64],
    /// Lower directories in the result. None may be there twice, which bounds the result.
    shown_lowers: HashSet<InodeId>,
    unmerged: Vec<Pair>,
    /// The lower directory that absolute redirects start at.
    base: InodeId,
}

impl<'a> Merger<'a> {
    fn new(
        upper: &'a UpperTree,
        (lower, numbers): (&'a LowerTree, &'a [u64]),
        tree: Tree<Content>,
        origins: Vec<Origin>,
    ) -> Self {
        Self {
            upper,
            lower,
            tree,
            origins,
            from_upper: HashMap::new(),
            from_lower: HashMap::new(),
            copies: HashMap::new(),
            numbers,
            shown_lowers: HashSet::new(),
            unmerged: Vec::new(),
            base: lower.root(),
        }
    }

    fn finish(self) -> Merged {
        Merged {
            tree: self.tree,
            origins: self.origins,
        }
    }

    /// Fills a directory with what an upper and a lower directory make together, and all directories below.
    fn merge_at(
        &mut self,
        id: InodeId,
        upper: InodeId,
        lower: Option<InodeId>,
    ) -> Result<(), OpenError> {
        self.enter(id, Some(upper), lower, b"/")?;
        while let Some(pair) = self.unmerged.pop() {
            self.fill(&pair)?;
        }
        Ok(())
    }

    /// Returns the directory that a target is in. Missing directories are added, as `image` has them.
    fn directories_above(
        &mut self,
        image: &StagedImage,
        target: &[u8],
    ) -> Result<InodeId, OpenError> {
        let (mut parent, mut below) = (self.tree.root(), image.tree.root());
        let names: Vec<&[u8]> = names_of(target).collect();
        for name in names.iter().take(names.len().saturating_sub(1)) {
            let found = image.tree.lookup(below, name);
            below = found.ok_or(OpenError::NoStaged)?;
            parent = match self.tree.lookup(parent, name) {
                Some(known) => known,
                None => {
                    let metadata = image.tree.inode(below).metadata.clone();
                    let added = self.add(Inode::directory(metadata), Origin::upper(Some(below)));
                    self.tree.link(parent, plain(name)?, added);
                    added
                }
            };
        }
        Ok(parent)
    }

    /// Adds an inode to the result.
    fn add(&mut self, inode: Inode<Content>, origin: Origin) -> InodeId {
        self.origins.push(origin);
        self.tree.add(inode)
    }

    /// Records the upper and the lower directory that a directory merges.
    fn enter(
        &mut self,
        id: InodeId,
        upper: Option<InodeId>,
        lower: Option<InodeId>,
        name: &[u8],
    ) -> Result<(), OpenError> {
        if let Some(lower) = lower
            && !self.shown_lowers.insert(lower)
        {
            return Err(OpenError::ShownTwice {
                path: name.to_vec(),
            });
        }
        self.unmerged.push(Pair { id, upper, lower });
        Ok(())
    }

    /// Adds the entries of a directory.
    fn fill(&mut self, pair: &Pair) -> Result<(), OpenError> {
        let (upper, lower) = (self.upper, self.lower);
        let mut names = Directory::new();
        if let Some(directory) = pair.upper {
            let is_marked = may_hold_file_whiteouts(&upper.inode(directory).metadata);
            for (name, &id) in upper.directory(directory).into_iter().flatten() {
                if is_whiteout(upper.inode(id), is_marked) {
                    continue;
                }
                let id = self.add_upper(name, id, pair.lower)?;
                names.insert(name.clone(), id);
            }
        }
        if let Some(directory) = pair.lower {
            let hidden = pair.upper.and_then(|upper| self.upper.directory(upper));
            let is_marked = may_hold_file_whiteouts(&lower.inode(directory).metadata);
            for (name, &id) in lower.directory(directory).into_iter().flatten() {
                let is_hidden = hidden.is_some_and(|names| names.contains_key(name));
                if is_hidden || is_whiteout(lower.inode(id), is_marked) {
                    continue;
                }
                let id = self.add_lower(name, id)?;
                names.insert(name.clone(), id);
            }
        }
        self.tree.inode_mut(pair.id).kind = FileKind::Directory(names);
        Ok(())
    }

    fn add_upper(
        &mut self,
        name: &Name,
        id: InodeId,
        beside: Option<InodeId>,
    ) -> Result<InodeId, OpenError> {
        let inode = self.upper.inode(id);
        let below = || self.below(inode, name, beside);
        if inode.kind.as_directory().is_some() {
            let lower = if is_opaque(&inode.metadata) {
                None
            } else {
                below().filter(|&lower| self.lower.directory(lower).is_some())
            };
            let directory = Inode::directory(shown(&inode.metadata));
            let added = self.add(directory, Origin::upper(lower));
            self.enter(added, Some(id), lower, name.as_bytes())?;
            return Ok(added);
        }
        let lower = if is_metacopy(&inode.metadata) {
            below()
        } else {
            None
        };
        Ok(self.add_upper_file(id, lower))
    }

    /// Adds an upper file that is not a directory, once. `lower` holds its content if it has none.
    fn add_upper_file(&mut self, id: InodeId, lower: Option<InodeId>) -> InodeId {
        if let Some(&known) = self.from_upper.get(&id) {
            return known;
        }
        let inode = self.upper.inode(id);
        let kind = kind(&inode.kind, |data| {
            if !is_metacopy(&inode.metadata) {
                return Content::Upper(data.clone());
            }
            match lower.map(|lower| &self.lower.inode(lower).kind) {
                Some(FileKind::Regular(data)) => Content::Lower(data.clone()),
                _ => Content::Lost {
                    size_bytes: data.size_bytes,
                },
            }
        });
        let metadata = shown(&inode.metadata);
        let added = self.add(Inode { metadata, kind }, Origin::upper(lower));
        self.from_upper.insert(id, added);
        added
    }

    fn add_lower(&mut self, name: &Name, id: InodeId) -> Result<InodeId, OpenError> {
        let inode = self.lower.inode(id);
        if inode.kind.as_directory().is_some() {
            let directory = Inode::directory(shown(&inode.metadata));
            let added = self.add(directory, Origin::image(id));
            self.enter(added, None, Some(id), name.as_bytes())?;
            return Ok(added);
        }
        let number = self.numbers.get(id.index());
        if let Some(&copy) = number.and_then(|number| self.copies.get(number)) {
            return Ok(self.add_upper_file(copy, Some(id)));
        }
        if let Some(&known) = self.from_lower.get(&id) {
            return Ok(known);
        }
        let kind = kind(&inode.kind, |data| Content::Lower(data.clone()));
        let metadata = shown(&inode.metadata);
        let added = self.add(Inode { metadata, kind }, Origin::image(id));
        self.from_lower.insert(id, added);
        Ok(added)
    }

    /// Returns the lower file below an upper one; `beside` is the lower directory of its parent.
    fn below(
        &self,
        inode: &Inode<ext4_writer::FileData>,
        name: &Name,
        beside: Option<InodeId>,
    ) -> Option<InodeId> {
        match redirect(&inode.metadata) {
            None => self.lower_child(beside?, name.as_bytes()),
            Some(path) => match path.strip_prefix(b"/") {
                Some(path) => path
                    .split(|&byte| byte == b'/')
                    .try_fold(self.base, |directory, name| {
                        self.lower_child(directory, name)
                    }),
                None => self.lower_child(beside?, path),
            },
        }
    }

    fn lower_child(&self, directory: InodeId, name: &[u8]) -> Option<InodeId> {
        let is_marked = may_hold_file_whiteouts(&self.lower.inode(directory).metadata);
        let id = self.lower.lookup(directory, name)?;
        (!is_whiteout(self.lower.inode(id), is_marked)).then_some(id)
    }
}

/// Returns the same kind with converted content. A directory becomes empty.
fn kind<D>(kind: &FileKind<D>, content: impl FnOnce(&D) -> Content) -> FileKind<Content> {
    match kind {
        FileKind::Regular(data) => FileKind::Regular(content(data)),
        FileKind::Directory(_) => FileKind::Directory(Directory::new()),
        FileKind::Symlink(target) => FileKind::Symlink(target.clone()),
        FileKind::CharDevice(device) => FileKind::CharDevice(*device),
        FileKind::BlockDevice(device) => FileKind::BlockDevice(*device),
        FileKind::Fifo => FileKind::Fifo,
        FileKind::Socket => FileKind::Socket,
    }
}
