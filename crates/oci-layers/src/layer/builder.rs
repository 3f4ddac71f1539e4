use erofs_writer::FileData;
use fstree::{Device, FileKind, FileType, Inode, InodeId, Name, Timestamp, Tree};

use super::hardlinks::Hardlinks;
use super::note::{NoteReason, Notes};
use super::path::Target;
use super::whiteouts::Whiteouts;
use super::{Layer, resolve, xattrs};
use crate::error::{InvalidEntry, LayerError};
use crate::limits::Limits;
use crate::markers;
use crate::tar::{Entry, EntryKind};

/// The longest symlink target, in bytes (`PATH_MAX`, linux/limits.h, less the NUL).
const TARGET_MAX_BYTES: usize = 4095;
/// `XATTR_NAME_MAX` (linux/limits.h).
const XATTR_NAME_MAX_BYTES: usize = 255;
/// EROFS counts the bytes of a value in 16 bits.
const XATTR_VALUE_MAX_BYTES: usize = 65_535;
/// The last time that 63 bits of nanoseconds hold, in the year 2262.
const TIME_MAX: Timestamp = Timestamp {
    seconds: 9_223_372_036,
    nanoseconds: 854_775_807,
};
/// What an inode costs in memory besides its strings, about.
const INODE_BYTES: usize = 128;

/// A layer's tree as it grows, entry by entry.
#[derive(Debug)]
pub(crate) struct Builder<'a> {
    limits: &'a Limits,
    tree: Tree<FileData>,
    hardlinks: Hardlinks,
    whiteouts: Whiteouts,
    notes: Notes,
    entries: u64,
    metadata_bytes: u64,
}

/// Where an entry goes: a directory that is there, and the name in it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) parent: InodeId,
    pub(crate) name: Name,
    /// The path without symlinks.
    pub(crate) path: Vec<u8>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(limits: &'a Limits) -> Self {
        Self {
            limits,
            tree: Tree::new(markers::implied_directory()),
            hardlinks: Hardlinks::default(),
            whiteouts: Whiteouts::default(),
            notes: Notes::new(limits),
            entries: 0,
            metadata_bytes: 0,
        }
    }

    /// Finds the place of an entry and makes the directories above it. Markers and the root are
    /// dealt with here and have none.
    pub(crate) fn place(&mut self, entry: &mut Entry) -> Result<Option<Slot>, LayerError> {
        self.charge_entry(entry)?;
        self.bound_time(entry);
        let target = Target::parse(&entry.path).map_err(|source| entry.refused(source))?;
        match target {
            Target::Aufs => {
                self.notes
                    .add(entry.offset_bytes, &entry.path, NoteReason::Aufs);
            }
            Target::Root => self.put_root(entry)?,
            Target::Opaque(parents) => {
                let slot = self.directory(&parents, None, entry)?;
                self.whiteouts.add_opaque(slot.0);
            }
            Target::Whiteout(parents, name) => {
                let slot = self.directory(&parents, Some(&name), entry)?;
                self.whiteouts.add(slot.0, name);
            }
            Target::File(parents, name) => {
                let (parent, path) = self.directory(&parents, Some(&name), entry)?;
                return Ok(Some(Slot { parent, name, path }));
            }
        }
        Ok(None)
    }

    /// Puts an entry into its place. What had the name before is gone, but a directory onto a
    /// directory only changes its attributes.
    pub(crate) fn put(
        &mut self,
        mut entry: Entry,
        slot: Slot,
        data: FileData,
    ) -> Result<(), LayerError> {
        let kind = match entry.kind {
            EntryKind::Regular => FileKind::Regular(data),
            EntryKind::Directory => return self.put_directory(entry, slot),
            EntryKind::Hardlink => {
                self.filter_xattrs(&mut entry, FileType::Regular)?;
                return self.hardlinks.put(&mut self.tree, entry, slot);
            }
            EntryKind::Symlink => {
                check_target(&entry)?;
                // As Linux has it, whatever the archive says.
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

    /// Settles what only the end of the archive settles.
    pub(crate) fn finish(mut self) -> Result<Layer, LayerError> {
        self.hardlinks.settle(&mut self.tree)?;
        self.whiteouts.settle(&mut self.tree);
        Ok(Layer {
            tree: self.tree,
            notes: self.notes.into_vec(),
        })
    }

    fn put_root(&mut self, entry: &mut Entry) -> Result<(), LayerError> {
        if entry.kind != EntryKind::Directory {
            return Err(entry.refused(InvalidEntry::RootType));
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
            // The file that stood here has replaced what the layers below have.
            self.whiteouts.add_opaque(id);
        }
        Ok(())
    }

    /// The directory at `parents`, made where it is missing, and the symlink-free path of `name`.
    fn directory(
        &mut self,
        parents: &[Name],
        name: Option<&Name>,
        entry: &Entry,
    ) -> Result<(InodeId, Vec<u8>), LayerError> {
        let place = resolve(&self.tree, parents).map_err(|source| entry.refused(source))?;
        let path = name.map_or_else(Vec::new, |name| place.path_of(name));
        let mut directory = place.directory();
        for name in place.missing {
            self.charge(entry, 1, INODE_BYTES + name.as_bytes().len())?;
            let child = Inode::directory(markers::implied_directory());
            let child = self.tree.add(child);
            self.tree.link(directory, name, child);
            directory = child;
        }
        Ok((directory, path))
    }

    /// Sets times that engines cannot set to the epoch, as they do.
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
        let too_long = entry.metadata.xattrs.iter().find(|(name, value)| {
            name.len() > XATTR_NAME_MAX_BYTES || value.len() > XATTR_VALUE_MAX_BYTES
        });
        match too_long {
            None => Ok(()),
            Some((name, _)) => Err(entry.refused(InvalidEntry::LongXattr {
                name: name.as_ref().into(),
            })),
        }
    }

    fn charge_entry(&mut self, entry: &Entry) -> Result<(), LayerError> {
        let xattrs = entry.metadata.xattrs.iter();
        let xattr_bytes: usize = xattrs.map(|(name, value)| name.len() + value.len()).sum();
        if xattr_bytes > self.limits.xattr_bytes {
            let limit = u64::try_from(self.limits.xattr_bytes).unwrap_or(u64::MAX);
            return Err(entry.over("bytes of xattrs on one file", limit));
        }
        let strings_bytes = entry.path.len() + entry.link.len() + xattr_bytes;
        let segments_bytes = entry.segments.len() * size_of::<erofs_writer::Extent>();
        self.charge(entry, 1, INODE_BYTES + strings_bytes + segments_bytes)
    }

    fn charge(&mut self, entry: &Entry, entries: u64, bytes: usize) -> Result<(), LayerError> {
        self.entries += entries;
        self.metadata_bytes += u64::try_from(bytes).unwrap_or(u64::MAX / 2);
        if self.entries > self.limits.entries {
            return Err(entry.over("entries", self.limits.entries));
        }
        if self.metadata_bytes > self.limits.metadata_bytes {
            return Err(entry.over("bytes of metadata", self.limits.metadata_bytes));
        }
        Ok(())
    }
}

fn check_target(entry: &Entry) -> Result<(), LayerError> {
    match entry.link.len() {
        0 => Err(entry.refused(InvalidEntry::EmptyTarget)),
        1..=TARGET_MAX_BYTES => Ok(()),
        length_bytes => Err(entry.refused(InvalidEntry::LongTarget { length_bytes })),
    }
}

fn checked(device: Device, entry: &Entry) -> Result<Device, LayerError> {
    let Device { major, minor } = device;
    if major < 1 << 12 && minor < 1 << 20 {
        return Ok(device);
    }
    Err(entry.refused(InvalidEntry::DeviceNumber { major, minor }))
}

impl Entry {
    /// The error that refuses this entry.
    pub(crate) fn refused(&self, source: InvalidEntry) -> LayerError {
        LayerError::Entry {
            offset_bytes: self.offset_bytes,
            path: self.path.as_slice().into(),
            source,
        }
    }

    fn over(&self, what: &'static str, limit: u64) -> LayerError {
        LayerError::Limit {
            offset_bytes: self.offset_bytes,
            what,
            limit,
        }
    }
}
