use fstree::{Device, FileData, FileKind, FileType, Inode, InodeId, Name, Timestamp, Tree};
use tar_stream::{Entry, EntryKind};

use super::cost::Cost;
use super::hardlinks::Hardlinks;
use super::note::{NoteReason, Notes};
use super::path::{Slot, Target};
use super::whiteouts::Whiteouts;
use super::{Layer, resolve, xattrs};
use crate::error::{InvalidEntry, LayerError};
use crate::limits::Limits;
use crate::markers;

/// The longest symlink target, in bytes: `PATH_MAX` (linux/limits.h) less the NUL.
const TARGET_MAX_BYTES: usize = 4095;
/// The last time, in the year 2262, that a 64-bit signed number of nanoseconds can hold.
const TIME_MAX: Timestamp = Timestamp {
    seconds: 9_223_372_036,
    nanoseconds: 854_775_807,
};

/// A layer's tree while it grows, entry by entry.
#[derive(Debug)]
pub(crate) struct Builder<'a> {
    limits: &'a Limits,
    tree: Tree<FileData>,
    hardlinks: Hardlinks,
    whiteouts: Whiteouts,
    notes: Notes,
    cost: Cost<'a>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(limits: &'a Limits) -> Self {
        Self {
            limits,
            tree: Tree::new(markers::implied_directory()),
            hardlinks: Hardlinks::default(),
            whiteouts: Whiteouts::default(),
            notes: Notes::new(limits),
            cost: Cost::new(limits),
        }
    }

    /// Finds the location of an entry and makes the directories above it. `None` for markers and
    /// the root, which are applied here.
    pub(crate) fn place(&mut self, entry: &mut Entry) -> Result<Option<Slot>, LayerError> {
        self.cost.charge_entry(entry)?;
        self.bound_time(entry);
        let target = Target::parse(&entry.path);
        let target = target.map_err(|source| LayerError::refused(entry, source))?;
        match target {
            Target::Aufs => {
                self.notes
                    .add(entry.offset_bytes, &entry.path, NoteReason::Aufs);
            }
            Target::Root => self.put_root(entry)?,
            Target::Opaque(parents) => {
                let directory = self.directory(&parents, entry)?;
                self.whiteouts.add_opaque(directory);
            }
            Target::Whiteout(parents, name) => {
                let directory = self.directory(&parents, entry)?;
                self.whiteouts.add(directory, name);
            }
            Target::File(parents, name) => {
                let parent = self.directory(&parents, entry)?;
                return Ok(Some(Slot { parent, name }));
            }
        }
        Ok(None)
    }

    /// Puts an entry at its location. It replaces an earlier entry of the same name, except that a
    /// directory only changes the attributes of an existing directory.
    pub(crate) fn put(
        &mut self,
        mut entry: Entry,
        slot: Slot,
        data: FileData,
    ) -> Result<(), LayerError> {
        let kind = match entry.kind {
            EntryKind::Regular => {
                let charged = self.cost.charge_content(&data);
                charged.map_err(|source| LayerError::refused(&entry, source))?;
                FileKind::Regular(data)
            }
            EntryKind::Directory => return self.put_directory(entry, slot),
            EntryKind::Hardlink => {
                self.filter_xattrs(&mut entry, FileType::Regular)?;
                return self.hardlinks.put(&mut self.tree, self.limits, entry, slot);
            }
            EntryKind::Symlink => {
                check_target(&entry)?;
                // Linux reports this mode for every symlink, whatever the archive says.
                entry.metadata.mode = 0o777;
                FileKind::Symlink(std::mem::take(&mut entry.link).into())
            }
            EntryKind::CharDevice(device) => FileKind::CharDevice(checked(device, &entry)?),
            EntryKind::BlockDevice(device) => FileKind::BlockDevice(checked(device, &entry)?),
            EntryKind::Fifo => FileKind::Fifo,
        };
        self.filter_xattrs(&mut entry, kind.file_type())?;
        let id = self.tree.add(Inode {
            metadata: entry.metadata,
            kind,
        });
        self.tree.link(slot.parent, slot.name, id);
        Ok(())
    }

    /// Resolves the links and whiteouts that only the end of the archive can resolve.
    pub(crate) fn finish(mut self) -> Result<Layer, LayerError> {
        self.hardlinks
            .settle(&mut self.tree, self.limits, &mut self.cost)?;
        self.whiteouts.settle(&mut self.tree);
        let (notes, notes_total) = self.notes.finish();
        Ok(Layer {
            tree: self.tree,
            notes,
            notes_total,
        })
    }

    fn put_root(&mut self, entry: &mut Entry) -> Result<(), LayerError> {
        if entry.kind != EntryKind::Directory {
            return Err(LayerError::refused(entry, InvalidEntry::RootType));
        }
        self.filter_xattrs(entry, FileType::Directory)?;
        let root = self.tree.root();
        self.tree.inode_mut(root).metadata = std::mem::take(&mut entry.metadata);
        Ok(())
    }

    fn put_directory(&mut self, mut entry: Entry, slot: Slot) -> Result<(), LayerError> {
        self.filter_xattrs(&mut entry, FileType::Directory)?;
        let existing = self.tree.lookup(slot.parent, slot.name.as_bytes());
        if let Some(id) = existing
            && self.tree.directory(id).is_some()
        {
            self.tree.inode_mut(id).metadata = entry.metadata;
            return Ok(());
        }
        let id = self.tree.add(Inode::directory(entry.metadata));
        self.tree.link(slot.parent, slot.name, id);
        if existing.is_some() {
            // The replaced file hid the content of the layers below, and so must the directory.
            self.whiteouts.add_opaque(id);
        }
        Ok(())
    }

    /// Returns the directory at `parents`; its missing parts are made.
    fn directory(&mut self, parents: &[Name], entry: &Entry) -> Result<InodeId, LayerError> {
        let place = resolve(&self.tree, parents, self.limits);
        let place = place.map_err(|source| LayerError::refused(entry, source))?;
        let mut directory = place.directory();
        for name in place.missing {
            let charged = self.cost.charge_directory(&name);
            charged.map_err(|source| LayerError::refused(entry, source))?;
            let child = Inode::directory(markers::implied_directory());
            let child = self.tree.add(child);
            self.tree.link(directory, name, child);
            directory = child;
        }
        Ok(directory)
    }

    /// Sets times that container engines cannot store to the epoch, as they do.
    fn bound_time(&mut self, entry: &mut Entry) {
        let mtime = &mut entry.metadata.mtime;
        if !(Timestamp::default()..=TIME_MAX).contains(mtime) {
            *mtime = Timestamp::default();
            self.notes
                .add(entry.offset_bytes, &entry.path, NoteReason::Time);
        }
    }

    fn filter_xattrs(&mut self, entry: &mut Entry, file_type: FileType) -> Result<(), LayerError> {
        let (offset_bytes, path, notes) = (entry.offset_bytes, &entry.path, &mut self.notes);
        xattrs::filter(&mut entry.metadata.xattrs, file_type, |reason| {
            notes.add(offset_bytes, path, reason);
        });
        let checked = xattrs::check(&entry.metadata.xattrs);
        checked.map_err(|source| LayerError::refused(entry, source))
    }
}

fn check_target(entry: &Entry) -> Result<(), LayerError> {
    match entry.link.len() {
        0 => Err(LayerError::refused(entry, InvalidEntry::EmptyTarget)),
        1..=TARGET_MAX_BYTES => Ok(()),
        length_bytes => Err(LayerError::refused(
            entry,
            InvalidEntry::LongTarget { length_bytes },
        )),
    }
}

fn checked(device: Device, entry: &Entry) -> Result<Device, LayerError> {
    let Device { major, minor } = device;
    if major < 1 << 12 && minor < 1 << 20 {
        return Ok(device);
    }
    Err(LayerError::refused(
        entry,
        InvalidEntry::DeviceNumber { major, minor },
    ))
}
