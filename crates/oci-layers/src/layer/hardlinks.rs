use std::collections::{HashMap, HashSet};

use erofs_writer::FileData;
use fstree::{FileKind, Inode, InodeId, Metadata, Name, Tree};

use super::builder::Slot;
use super::cost::Cost;
use super::path::{components, names};
use super::{Place, resolve};
use crate::error::{InvalidEntry, LayerError};
use crate::limits::{Limit, Limits};
use crate::markers;
use crate::tar::Entry;

/// Hard links whose target is not there yet: it comes later in the archive, or is a lower layer's.
/// Until then an empty file stands for it.
#[derive(Debug, Default)]
pub(crate) struct Hardlinks {
    /// What each stand-in stands for, as the archive spells it.
    targets: HashMap<InodeId, Box<[u8]>>,
    pending: Vec<Pending>,
}

#[derive(Debug)]
struct Pending {
    entry: Entry,
    slot: Slot,
    stand_in: InodeId,
}

/// What a link leads to in the tree.
enum Found {
    File(InodeId),
    /// Nothing; the path without symlinks.
    Nothing(Vec<u8>),
}

/// A tree to find links' targets in.
#[derive(Clone, Copy)]
struct Search<'a> {
    tree: &'a Tree<FileData>,
    limits: &'a Limits,
}

impl Hardlinks {
    /// Puts a hard link into its place. Its attributes become the file's, its xattrs are added.
    pub(crate) fn put(
        &mut self,
        tree: &mut Tree<FileData>,
        limits: &Limits,
        entry: Entry,
        slot: Slot,
    ) -> Result<(), LayerError> {
        let search = Search { tree, limits };
        let place = search.place(&entry.link);
        let (place, name) = place.map_err(|source| entry.refused(source))?;
        if place.missing.is_empty() && place.directory() == slot.parent && name == slot.name {
            return Err(entry.refused(InvalidEntry::HardlinkLoop));
        }
        let found = search.file_at(&place, &name);
        let id = match found.map_err(|source| entry.refused(source))? {
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

    /// Links what has come since, and marks the rest for the merge.
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
                // A later entry has replaced it, or a directory above it.
                continue;
            }
            let found = self.follow(Search { tree, limits }, stand_in);
            match found.map_err(|source| entry.refused(source))? {
                Found::File(id) => {
                    describe(tree.inode_mut(id), &entry.metadata);
                    tree.link(slot.parent, slot.name, id);
                }
                Found::Nothing(path) => {
                    let charged = cost.charge_target(&entry.link, &path);
                    charged.map_err(|source| entry.refused(source.into()))?;
                    let metadata = &mut tree.inode_mut(stand_in).metadata;
                    markers::set_value(metadata, markers::HARDLINK, &path);
                }
            }
        }
        Ok(())
    }

    /// Where a stand-in leads in the end.
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
    /// Where a link's target is: its directory and its name, which is not followed.
    fn place(self, link: &[u8]) -> Result<(Place, Name), InvalidEntry> {
        let names = names(&components(link)?)?;
        let (last, parents) = names.split_last().ok_or_else(|| directory_error(b"/"))?;
        Ok((resolve(self.tree, parents, self.limits)?, last.clone()))
    }

    /// The file there, if there is one.
    fn file_at(self, place: &Place, name: &Name) -> Result<Option<InodeId>, InvalidEntry> {
        let found = match place.missing.is_empty() {
            true => self.tree.lookup(place.directory(), name.as_bytes()),
            false => None,
        };
        match found {
            Some(id) if self.tree.directory(id).is_some() => {
                Err(directory_error(&place.path_of(name)))
            }
            found => Ok(found),
        }
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
