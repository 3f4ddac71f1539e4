use std::collections::{HashMap, HashSet};

use fstree::{FileData, FileKind, Inode, InodeId, Metadata, Name, Tree};
use tar_stream::Entry;

use super::cost::Cost;
use super::path::{Slot, components, names};
use super::{ResolvedPath, resolve};
use crate::error::{InvalidEntry, LayerError};
use crate::limits::{Limit, Limits};
use crate::markers;

/// Hard links whose target is not in the tree yet. It comes later in the archive, or belongs to a
/// lower layer. Until then an empty file stands in for it.
#[derive(Debug, Default)]
pub(crate) struct Hardlinks {
    /// The target of each stand-in, as spelled in the archive.
    targets: HashMap<InodeId, Box<[u8]>>,
    pending: Vec<Pending>,
}

#[derive(Debug)]
struct Pending {
    entry: Entry,
    slot: Slot,
    stand_in: InodeId,
}

/// The target of a link in the tree.
enum Found {
    File(InodeId),
    /// No file; the path of the target without symlinks.
    Nothing(Vec<u8>),
}

/// A tree in which the targets of links are looked up.
#[derive(Clone, Copy)]
struct Search<'a> {
    tree: &'a Tree<FileData>,
    limits: &'a Limits,
}

impl Hardlinks {
    /// Puts a hard link at its location. The file takes the link's attributes and gains its xattrs.
    pub(crate) fn put(
        &mut self,
        tree: &mut Tree<FileData>,
        limits: &Limits,
        entry: Entry,
        slot: Slot,
    ) -> Result<(), LayerError> {
        let search = Search { tree, limits };
        let place = search.place(&entry.link);
        let (place, name) = place.map_err(|source| LayerError::refused(&entry, source))?;
        if place.missing.is_empty() && place.directory() == slot.parent && name == slot.name {
            return Err(LayerError::refused(&entry, InvalidEntry::HardlinkLoop));
        }
        let found = search.file_at(&place, &name);
        let id = match found.map_err(|source| LayerError::refused(&entry, source))? {
            Some(id) => {
                describe(tree.inode_mut(id), &entry.metadata);
                id
            }
            None => {
                let id = tree.add(Inode {
                    metadata: entry.metadata.clone(),
                    kind: FileKind::Regular(FileData::default()),
                });
                self.targets.insert(id, entry.link.as_slice().into());
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

    /// Links the targets that have come since, and marks the other links for the merge.
    pub(crate) fn settle(
        mut self,
        tree: &mut Tree<FileData>,
        limits: &Limits,
        cost: &mut Cost<'_>,
    ) -> Result<(), LayerError> {
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
                // A later entry has replaced the link or a directory above it.
                continue;
            }
            let found = self.follow(Search { tree, limits }, stand_in);
            match found.map_err(|source| LayerError::refused(&entry, source))? {
                Found::File(id) => {
                    describe(tree.inode_mut(id), &entry.metadata);
                    tree.link(slot.parent, slot.name, id);
                }
                Found::Nothing(path) => {
                    let charged = cost.charge_target(&entry.link, &path);
                    charged.map_err(|source| LayerError::refused(&entry, source))?;
                    let metadata = &mut tree.inode_mut(stand_in).metadata;
                    markers::set_value(metadata, markers::HARDLINK, &path);
                }
            }
        }
        Ok(())
    }

    /// Follows a stand-in to the file or the missing path at its end.
    fn follow(&self, search: Search<'_>, stand_in: InodeId) -> Result<Found, InvalidEntry> {
        let mut next = stand_in;
        for _ in 0..search.limits.get(Limit::EntryLinks) {
            let Some(link) = self.targets.get(&next) else {
                return Ok(Found::File(next));
            };
            let (place, name) = search.place(link)?;
            match search.file_at(&place, &name)? {
                Some(id) => next = id,
                None => return Ok(Found::Nothing(place.path_of(&name))),
            }
        }
        let exceeded = search.limits.exceeded(Limit::EntryLinks);
        Err(InvalidEntry::HardlinkChain(exceeded))
    }
}

impl Search<'_> {
    /// Returns the location of a link's target: its directory and its name, which is not followed.
    fn place(self, link: &[u8]) -> Result<(ResolvedPath, Name), InvalidEntry> {
        let names = names(&components(link)?)?;
        let (last, parents) = names.split_last().ok_or_else(|| directory_error(b"/"))?;
        Ok((resolve(self.tree, parents, self.limits)?, last.clone()))
    }

    /// Returns the file at a location. `None` if it does not exist.
    fn file_at(self, place: &ResolvedPath, name: &Name) -> Result<Option<InodeId>, InvalidEntry> {
        let found = if place.missing.is_empty() {
            self.tree.lookup(place.directory(), name.as_bytes())
        } else {
            None
        };
        match found {
            Some(id) if self.tree.directory(id).is_some() => {
                Err(directory_error(&place.path_of(name)))
            }
            found => Ok(found),
        }
    }
}

/// Returns the directories that can be reached from the root.
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
            file.xattrs.extend(&link.xattrs);
        }
        _ => file.mode = link.mode,
    }
}

fn directory_error(path: &[u8]) -> InvalidEntry {
    InvalidEntry::HardlinkToDirectory {
        target: path.into(),
    }
}
