use std::collections::{HashMap, btree_map};
use std::io::{self, Write};

use fstree::{FileKind, FileType, InodeId, Metadata, Name, Segment};
use tar_stream::{ArchiveWriter, EntryHeader, EntryKind, Limits};

use super::metadata::layered;
use super::note::{LayerNoteReason, Notes};
use super::plan::{Plan, Removed};
use super::{LayerError, LayerOptions, WrittenLayer};
use crate::Side;

/// The prefix of a whiteout's name.
const WHITEOUT_PREFIX: &[u8] = b".wh.";
/// The name of the marker that hides a lower directory.
const OPAQUE_NAME: &[u8] = b".wh..wh..opq";
/// The bytes of holes from which on a file is written as a sparse one: every reader of layers knows
/// plain files.
const HOLES_MIN_BYTES: u64 = 1 << 20;
/// Bytes that an error shows of a path that is too long.
const SHOWN_BYTES: usize = 100;

/// A layer that is being written.
pub(super) struct Output<'a, N, W> {
    new: &'a N,
    plan: &'a Plan,
    options: LayerOptions,
    archive: ArchiveWriter<W>,
    /// Number of names of each inode, by arena index.
    link_counts: Vec<u64>,
    /// The path under which each file with several names was written.
    first_paths: HashMap<InodeId, Vec<u8>>,
    /// The path of the current name, without a leading slash.
    path: Vec<u8>,
    path_max_bytes: usize,
    entries: u64,
    notes: Notes,
}

/// A directory with names that are not written yet, and the length of its path, in bytes.
struct OpenDirectory<'a> {
    names: btree_map::Iter<'a, Name, InodeId>,
    path_bytes: usize,
}

impl<'a, N: Side, W: Write> Output<'a, N, W> {
    pub(super) fn new(new: &'a N, plan: &'a Plan, options: LayerOptions, out: W) -> Self {
        let path_max_bytes = Limits::default().path_bytes;
        Self {
            new,
            plan,
            options,
            archive: ArchiveWriter::new(out),
            link_counts: new.tree().link_counts(),
            first_paths: HashMap::new(),
            path: Vec::new(),
            path_max_bytes: usize::try_from(path_max_bytes).unwrap_or(usize::MAX),
            entries: 0,
            notes: plan.notes().clone(),
        }
    }

    pub(super) fn run(mut self) -> Result<WrittenLayer<W>, LayerError<N::Error>> {
        let root = self.new.tree().root();
        let mut open = Vec::new();
        if self.plan.is_needed(root) {
            open.extend(self.add(root)?);
        }
        while let Some(directory) = open.last_mut() {
            let Some((name, &id)) = directory.names.next() else {
                open.pop();
                continue;
            };
            if !self.plan.is_needed(id) {
                continue;
            }
            let path_bytes = directory.path_bytes;
            self.enter(path_bytes, name.as_bytes())?;
            open.extend(self.add(id)?);
        }
        Ok(WrittenLayer {
            out: self
                .archive
                .finish()
                .map_err(tar_stream::WriteError::Output)?,
            entries: self.entries,
            notes: self.notes.kept,
            notes_total: self.notes.total,
        })
    }

    /// Makes a name in a directory the current one.
    fn enter(&mut self, path_bytes: usize, name: &[u8]) -> Result<(), LayerError<N::Error>> {
        self.path.truncate(path_bytes);
        if !self.path.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name);
        if name.starts_with(WHITEOUT_PREFIX) {
            return Err(LayerError::ReservedName { path: self.shown() });
        }
        self.check_length(&self.path)
    }

    /// Adds an entry for the current name. Returns the directory to enter; `None` for other files.
    fn add(&mut self, id: InodeId) -> Result<Option<OpenDirectory<'a>>, LayerError<N::Error>> {
        let inode = self.new.tree().inode(id);
        let metadata = self.metadata(&inode.metadata, inode.kind.file_type());
        let FileKind::Directory(names) = &inode.kind else {
            self.add_file(id, &metadata)?;
            return Ok(None);
        };
        self.entry(EntryKind::Directory, b"", &metadata)?;
        let path_bytes = self.path.len();
        if let Some(removed) = self.plan.removed(id) {
            self.add_whiteouts(removed)?;
        }
        Ok(Some(OpenDirectory {
            names: names.iter(),
            path_bytes,
        }))
    }

    /// Adds whiteouts in the current directory.
    fn add_whiteouts(&mut self, removed: &Removed) -> Result<(), LayerError<N::Error>> {
        if removed.is_opaque {
            return self.marker(OPAQUE_NAME);
        }
        let path_bytes = self.path.len();
        for name in &removed.names {
            self.enter(path_bytes, name)?;
            self.path.truncate(path_bytes);
            self.marker(&[WHITEOUT_PREFIX, name].concat())?;
        }
        Ok(())
    }

    /// Adds an empty file to the current directory.
    fn marker(&mut self, name: &[u8]) -> Result<(), LayerError<N::Error>> {
        let path_bytes = self.path.len();
        if path_bytes > 0 {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name);
        self.check_length(&self.path)?;
        self.entry(EntryKind::Regular, b"", &Metadata::with_mode(0))?;
        self.path.truncate(path_bytes);
        Ok(())
    }

    fn add_file(&mut self, id: InodeId, metadata: &Metadata) -> Result<(), LayerError<N::Error>> {
        if let Some(first) = self.first_paths.get(&id).cloned() {
            return self.entry(EntryKind::Hardlink, &first, metadata);
        }
        if self.link_counts[id.index()] > 1 {
            self.first_paths.insert(id, self.path.clone());
        }
        match &self.new.tree().inode(id).kind {
            FileKind::Regular(content) => self.content(content, metadata),
            FileKind::Symlink(target) => self.entry(EntryKind::Symlink, target, metadata),
            FileKind::CharDevice(device) => {
                self.entry(EntryKind::CharDevice(*device), b"", metadata)
            }
            FileKind::BlockDevice(device) => {
                self.entry(EntryKind::BlockDevice(*device), b"", metadata)
            }
            FileKind::Fifo => self.entry(EntryKind::Fifo, b"", metadata),
            // A socket is not needed, and a directory was entered.
            FileKind::Socket | FileKind::Directory(_) => Ok(()),
        }
    }

    fn entry(
        &mut self,
        kind: EntryKind,
        link: &[u8],
        metadata: &Metadata,
    ) -> Result<(), LayerError<N::Error>> {
        self.entries += 1;
        let path: &[u8] = if self.path.is_empty() {
            b"."
        } else {
            &self.path
        };
        let header = EntryHeader {
            path,
            kind,
            link,
            metadata,
        };
        Ok(self.archive.entry(&header)?)
    }

    fn content(
        &mut self,
        content: &N::Content,
        metadata: &Metadata,
    ) -> Result<(), LayerError<N::Error>> {
        self.entries += 1;
        let header = EntryHeader {
            path: &self.path,
            kind: EntryKind::Regular,
            link: b"",
            metadata,
        };
        let new = self.new;
        let size_bytes = new.size_bytes(content);
        let segments = filled(new.segments(content), size_bytes);
        let mut failure = None;
        let mut read = |offset_bytes, buffer: &mut [u8]| {
            let read = new.read_at(content, offset_bytes, buffer);
            read.map_err(|error| {
                failure = Some(error);
                io::Error::other("the content cannot be read")
            })
        };
        let written = self.archive.file(&header, size_bytes, segments, &mut read);
        if let Some(source) = failure {
            return Err(LayerError::Content {
                path: self.shown(),
                source,
            });
        }
        Ok(written?)
    }

    /// Returns the metadata that the layer has of the current name.
    fn metadata(&mut self, metadata: &Metadata, file_type: FileType) -> Metadata {
        let (path, notes) = (&self.path, &mut self.notes);
        layered(metadata, file_type, self.options, |name| {
            let path = [b"/", &path[..]].concat();
            let name = name.to_vec();
            notes.add(path, LayerNoteReason::Xattr { name });
        })
    }

    fn check_length(&self, path: &[u8]) -> Result<(), LayerError<N::Error>> {
        // A directory's path ends with a slash.
        if path.len() < self.path_max_bytes {
            return Ok(());
        }
        let mut start = self.shown();
        start.truncate(SHOWN_BYTES);
        Err(LayerError::LongPath {
            start,
            length_bytes: path.len() + 1,
            limit_bytes: self.path_max_bytes,
        })
    }

    /// Returns the current path with a leading slash.
    fn shown(&self) -> Vec<u8> {
        [b"/", &self.path[..]].concat()
    }
}

/// Returns the segments of a file, with holes only if they are large.
fn filled(segments: Vec<Segment>, size_bytes: u64) -> Vec<Segment> {
    let data_bytes = segments.iter().map(|segment| segment.length_bytes);
    let holes_bytes = size_bytes.saturating_sub(data_bytes.fold(0, u64::saturating_add));
    if holes_bytes < HOLES_MIN_BYTES {
        return Segment::whole_file(size_bytes);
    }
    segments
}
