use std::collections::HashMap;
use std::error::Error;

use fstree::{Device, Directory, FileData, FileKind, Inode, InodeId, Metadata, Name, Tree};
use tar_stream::RawPath;

use crate::error::{InvalidEntry, MergeError};
use crate::layer::{components, describe, resolve};
use crate::limits::{Limit, Limits};
use crate::markers;
use crate::removals::Removals;

/// A whole image: the result of merging its layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The image's files, without markers. The base is layer 0, and the content of a file from
    /// layer `i` lies on device `i+1`.
    pub tree: Tree<FileData>,
}

/// Merges layers, the base first. Each is dropped before the next is requested.
///
/// Time and memory are linear in the layers' entries.
///
/// # Errors
/// A layer cannot be read, has a hard link whose target is missing in the layers below or is a
/// directory, or exceeds `limits` or the number of device slots.
pub fn merge<E: Error + 'static>(
    layers: impl IntoIterator<Item = Result<Tree<FileData>, E>>,
    limits: &Limits,
) -> Result<Merged, MergeError<E>> {
    let mut merged = Tree::new(Metadata::directory(0o755));
    let mut names = 0;
    for (layer, tree) in layers.into_iter().enumerate() {
        let tree = tree.map_err(|source| MergeError::Layer { layer, source })?;
        names += tree.names();
        let checked = limits.check_length(Limit::ImageEntries, names);
        checked.map_err(|source| MergeError::Limit { layer, source })?;
        let device = layer
            .checked_add(1)
            .and_then(|slot| u16::try_from(slot).ok());
        let device = device.ok_or(MergeError::TooManyLayers { limit: u16::MAX })?;
        let linked = link_lower(&mut merged, &tree, limits).map_err(|refusal| refusal.at(layer))?;
        let marker_only = markers::marker_only(&tree);
        let removals = Removals::find(&merged, &tree, &marker_only, limits);
        removals.apply(&mut merged);
        Application {
            merged: &mut merged,
            layer: tree,
            marker_only,
            device,
            moved: linked,
        }
        .run();
    }
    Ok(Merged { tree: merged })
}

/// A reason why a hard link to a lower file cannot be made.
enum Refusal {
    Absent(RawPath),
    Directory(RawPath),
}

impl Refusal {
    fn at<E: Error + 'static>(self, layer: usize) -> MergeError<E> {
        match self {
            Self::Absent(target) => MergeError::HardlinkTarget { layer, target },
            Self::Directory(target) => MergeError::HardlinkToDirectory { layer, target },
        }
    }
}

/// Finds the lower files that the layer links to, and gives them the links' attributes. This comes
/// before the layer removes anything.
fn link_lower(
    merged: &mut Tree<FileData>,
    layer: &Tree<FileData>,
    limits: &Limits,
) -> Result<HashMap<InodeId, InodeId>, Refusal> {
    let mut linked = HashMap::new();
    for entry in layer.links() {
        let metadata = &layer.inode(entry.id).metadata;
        let Some(target) = metadata.xattrs.get(markers::HARDLINK) else {
            continue;
        };
        if linked.contains_key(&entry.id) {
            continue;
        }
        let id = find_lower(merged, target, limits)?;
        let mut metadata = metadata.clone();
        markers::strip(&mut metadata);
        describe(merged.inode_mut(id), &metadata);
        linked.insert(entry.id, id);
    }
    Ok(linked)
}

fn find_lower(merged: &Tree<FileData>, target: &[u8], limits: &Limits) -> Result<InodeId, Refusal> {
    let absent = || Refusal::Absent(target.into());
    let names = components(target).and_then(|components| {
        let names = components.into_iter().map(Name::new);
        names
            .collect::<Result<Vec<_>, _>>()
            .map_err(InvalidEntry::from)
    });
    let names = names.map_err(|_| absent())?;
    let (last, parents) = names.split_last().ok_or_else(absent)?;
    let place = resolve(merged, parents, limits).map_err(|_| absent())?;
    if !place.missing.is_empty() {
        return Err(absent());
    }
    let id = merged
        .lookup(place.directory(), last.as_bytes())
        .ok_or_else(absent)?;
    match merged.directory(id) {
        Some(_) => Err(Refusal::Directory(target.into())),
        None => Ok(id),
    }
}

/// One layer that is being moved into the merged tree.
struct Application<'a> {
    merged: &'a mut Tree<FileData>,
    layer: Tree<FileData>,
    /// The layer's directories that only remove names, which has been done already.
    marker_only: Vec<bool>,
    device: u16,
    /// The merged inodes of the layer's files, by the file's identifier in the layer.
    moved: HashMap<InodeId, InodeId>,
}

impl Application<'_> {
    fn run(&mut self) {
        let root = self.take(self.layer.root());
        let lower_root = self.merged.root();
        let mut open = vec![(self.enter(root, lower_root), lower_root)];
        while let Some((names, parent)) = open.pop() {
            for (name, id) in names {
                if self.marker_only[id.index()] {
                    continue;
                }
                if markers::is_whiteout(self.layer.inode(id)) {
                    self.merged.unlink(parent, name.as_bytes());
                } else if self.layer.directory(id).is_some() {
                    open.push(self.put_directory(parent, name, id));
                } else {
                    let id = self.put_file(id);
                    self.merged.link(parent, name, id);
                }
            }
        }
    }

    /// Adds a directory or keeps the lower one. Returns the entries that still have to go into it.
    fn put_directory(&mut self, parent: InodeId, name: Name, id: InodeId) -> (Directory, InodeId) {
        let lower = self.merged.lookup(parent, name.as_bytes());
        let lower = lower.filter(|&id| self.merged.directory(id).is_some());
        let target = lower.unwrap_or_else(|| {
            let directory = Inode::directory(Metadata::directory(0o755));
            let id = self.merged.add(directory);
            self.merged.link(parent, name, id);
            id
        });
        let directory = self.take(id);
        (self.enter(directory, target), target)
    }

    /// Applies a directory of the layer to a directory of the merged tree and returns its entries.
    fn enter(&mut self, upper: Inode<FileData>, target: InodeId) -> Directory {
        let lower = self.merged.inode_mut(target);
        if markers::has(&upper.metadata, markers::OPAQUE) {
            lower.kind = FileKind::Directory(Directory::new());
        }
        if !markers::has(&upper.metadata, markers::IMPLIED) {
            lower.metadata = upper.metadata;
            markers::strip(&mut lower.metadata);
        }
        match upper.kind {
            FileKind::Directory(names) => names,
            _ => Directory::new(),
        }
    }

    /// Moves a file to the merged tree, once for all of its names.
    fn put_file(&mut self, id: InodeId) -> InodeId {
        if let Some(&moved) = self.moved.get(&id) {
            return moved;
        }
        let mut inode = self.take(id);
        markers::strip(&mut inode.metadata);
        if let FileKind::Regular(data) = &mut inode.kind {
            for extent in &mut data.extents {
                extent.device = self.device;
            }
        }
        let moved = self.merged.add(inode);
        self.moved.insert(id, moved);
        moved
    }

    fn take(&mut self, id: InodeId) -> Inode<FileData> {
        let nothing = Inode {
            metadata: Metadata::default(),
            kind: FileKind::CharDevice(Device { major: 0, minor: 0 }),
        };
        std::mem::replace(self.layer.inode_mut(id), nothing)
    }
}
