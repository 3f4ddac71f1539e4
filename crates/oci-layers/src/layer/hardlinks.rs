use std::collections::{HashMap, HashSet};

use erofs_writer::FileData;
use fstree::{FileKind, Inode, InodeId, Metadata, Name, Tree};

use super::builder::Slot;
use super::path::{components, names};
use super::{Place, resolve};
use crate::error::{InvalidEntry, LayerError};
use crate::markers;
use crate::tar::Entry;

/// Links that lead to links that lead on, at most.
const CHAIN_MAX: usize = 40;

/// Hard links whose target is not there yet: it comes later in the archive, or is a lower layer's.
/// Until then an empty file stands for it.
#[derive(Debug, Default)]
pub(crate) struct Hardlinks {
    targets: HashMap<InodeId, Vec<Name>>,
    pending: Vec<Pending>,
}

#[derive(Debug)]
struct Pending {
    entry: Entry,
    slot: Slot,
    stand_in: InodeId,
}

/// What a way leads to in the tree.
enum Found {
    File(InodeId),
    /// Nothing; the path without symlinks.
    Nothing(Vec<u8>),
}

impl Hardlinks {
    /// Puts a hard link into its place. Its attributes become the file's, its xattrs are added.
    pub(crate) fn put(
        &mut self,
        tree: &mut Tree<FileData>,
        entry: Entry,
        slot: Slot,
    ) -> Result<(), LayerError> {
        let way = components(&entry.link).and_then(|components| names(&components));
        let way = way.map_err(|source| entry.refused(source))?;
        let (found, path) = find(tree, &way).map_err(|source| entry.refused(source))?;
        if path == slot.path {
            return Err(entry.refused(InvalidEntry::HardlinkLoop));
        }
        let id = match found {
            Some(id) => {
                describe(tree.inode_mut(id), &entry.metadata);
                id
            }
            None => {
                let id = tree.add(Inode {
                    metadata: entry.metadata.clone(),
                    kind: FileKind::Regular(FileData::default()),
                });
                self.targets.insert(id, way);
                id
            }
        };
        tree.link(slot.parent, slot.name.clone(), id);
        if self.targets.contains_key(&id) {
            self.pending.push(Pending {
                entry,
                slot,
                stand_in: id,
            });
        }
        Ok(())
    }

    /// Links what has come since, and marks the rest for the merge.
    pub(crate) fn settle(mut self, tree: &mut Tree<FileData>) -> Result<(), LayerError> {
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            return Ok(());
        }
        let directories = directories(tree);
        for link in pending {
            let Pending {
                entry,
                slot,
                stand_in,
            } = link;
            let named = tree.lookup(slot.parent, slot.name.as_bytes());
            if named != Some(stand_in) || !directories.contains(&slot.parent) {
                // A later entry has replaced it, or a directory above it.
                continue;
            }
            let found = self.follow(tree, stand_in);
            match found.map_err(|source| entry.refused(source))? {
                Found::File(id) => {
                    describe(tree.inode_mut(id), &entry.metadata);
                    tree.link(slot.parent, slot.name, id);
                }
                Found::Nothing(path) => {
                    let metadata = &mut tree.inode_mut(stand_in).metadata;
                    markers::set_value(metadata, markers::HARDLINK, &path);
                }
            }
        }
        Ok(())
    }

    /// Where a stand-in leads in the end.
    fn follow(&self, tree: &Tree<FileData>, stand_in: InodeId) -> Result<Found, InvalidEntry> {
        let mut next = stand_in;
        for _ in 0..CHAIN_MAX {
            let Some(way) = self.targets.get(&next) else {
                return Ok(Found::File(next));
            };
            match find(tree, way)? {
                (Some(id), _) => next = id,
                (None, path) => return Ok(Found::Nothing(path)),
            }
        }
        Err(InvalidEntry::HardlinkLoop)
    }
}

/// The directories that the root leads to.
fn directories<D>(tree: &Tree<D>) -> HashSet<InodeId> {
    let mut found = HashSet::new();
    let mut open = vec![tree.root()];
    while let Some(id) = open.pop() {
        if let Some(names) = tree.directory(id) {
            found.insert(id);
            open.extend(names.values());
        }
    }
    found
}

/// Gives a file the attributes of a further link to it.
pub(crate) fn describe<D>(inode: &mut Inode<D>, link: &Metadata) {
    let file = &mut inode.metadata;
    (file.uid, file.gid, file.mtime) = (link.uid, link.gid, link.mtime);
    match inode.kind {
        FileKind::Symlink(_) => {}
        FileKind::Regular(_) => {
            file.mode = link.mode;
            let xattrs = link.xattrs.iter();
            let xattrs = xattrs.map(|(name, value)| (name.clone(), value.clone()));
            file.xattrs.extend(xattrs);
        }
        _ => file.mode = link.mode,
    }
}

/// What `way` names, the last component not followed, and its path without symlinks.
fn find(tree: &Tree<FileData>, way: &[Name]) -> Result<(Option<InodeId>, Vec<u8>), InvalidEntry> {
    let Some((last, parents)) = way.split_last() else {
        return Err(directory_error(b"/"));
    };
    let place: Place = resolve(tree, parents)?;
    let path = place.path_of(last);
    let found = match place.missing.is_empty() {
        true => tree.lookup(place.directory(), last.as_bytes()),
        false => None,
    };
    match found {
        Some(id) if tree.directory(id).is_some() => Err(directory_error(&path)),
        found => Ok((found, path)),
    }
}

fn directory_error(path: &[u8]) -> InvalidEntry {
    InvalidEntry::HardlinkToDirectory {
        target: path.into(),
    }
}
