//! The content of the files, read into an image.

use std::collections::HashSet;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::thread::sleep;

use erofs_writer::{ImageWriter, Options, OutputFile, WriteError};
use fstree::{BLOCK_SIZE_BYTES, FileData, FileKind, InodeId, Metadata, Segment};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;

use crate::found::{Content, Found};
use crate::host::{failed, joined, open_file};
use crate::left_out::{below_source, last};
use crate::stamp::Stamp;
use crate::walk::plain_metadata;
use crate::{Key, Listing, StageError};

/// The number of times that a file is read that changes meanwhile.
const TRIES: u32 = 3;
/// The name of the image's volume.
const VOLUME_NAME: &str = "msb-staged";

impl Listing {
    /// Reads all files, and writes the image. If a file changed since it was listed, the listing has another
    /// key afterwards.
    pub(crate) fn write(&mut self, output: File) -> Result<(), StageError> {
        let options = Options {
            uuid: self.key.uuid(),
            volume_name: VOLUME_NAME.to_owned(),
            ..Options::default()
        };
        let cannot_write = |source| {
            StageError::Image(WriteError::Io {
                offset_bytes: 0,
                source,
            })
        };
        let output = OutputFile::new(output).map_err(cannot_write)?;
        let writer = ImageWriter::new(output, options).map_err(StageError::Image)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut sources = Vec::new();
        for directory in &self.directories {
            let opened = open(directory, flags, Mode::empty());
            sources.push(opened.map_err(failed("open", directory, b""))?);
        }
        let mut reader = Reader {
            listing: self,
            sources,
            writer,
            changed: blake3::Hasher::new(),
            has_changed: false,
        };
        reader.read_all()?;
        let Reader {
            writer,
            mut changed,
            has_changed,
            ..
        } = reader;
        let Ok(tree) = self.tree.clone().try_map(|content| {
            Ok::<_, Infallible>(match content {
                Content::Denied => FileData::default(),
                Content::Host(found) => found.data,
            })
        });
        writer.finish(&tree).map_err(StageError::Image)?;
        if has_changed {
            changed.update(&self.key.0);
            self.key = Key(*changed.finalize().as_bytes());
        }
        Ok(())
    }
}

struct Reader<'a> {
    listing: &'a mut Listing,
    sources: Vec<OwnedFd>,
    writer: ImageWriter<OutputFile>,
    /// The digest of the files that changed since they were listed.
    changed: blake3::Hasher,
    has_changed: bool,
}

impl Reader<'_> {
    /// Appends the content of all regular files, in the order of the names. Those that have been removed are
    /// left out.
    fn read_all(&mut self) -> Result<(), StageError> {
        let ids: Vec<InodeId> = self.listing.tree.links().map(|link| link.id).collect();
        let mut done = HashSet::new();
        let mut removed = HashSet::new();
        for id in ids {
            let FileKind::Regular(Content::Host(found)) = &self.listing.tree.inode(id).kind else {
                continue;
            };
            if found.stamp.links > 1 && !done.insert(id) {
                continue;
            }
            let found = found.clone();
            if !self.read_to(id, found)? {
                removed.insert(id);
            }
        }
        if !removed.is_empty() {
            self.leave_out(removed)?;
        }
        Ok(())
    }

    /// Removes names of files that have been removed, except those by which a file can still be read.
    fn leave_out(&mut self, mut removed: HashSet<InodeId>) -> Result<(), StageError> {
        let names = self.listing.tree.walk();
        let names = names.filter(|entry| removed.contains(&entry.id));
        let names: Vec<_> = names
            .map(|name| (name.parent, name.id, name.path))
            .collect();
        for (parent, id, path) in names {
            let FileKind::Regular(Content::Host(found)) = &self.listing.tree.inode(id).kind else {
                continue;
            };
            if !removed.contains(&id) {
                continue;
            }
            let mut found = found.clone();
            let is_other = found.path != below_source(&path);
            found.path = below_source(&path).to_vec();
            if is_other && self.read_to(id, found)? {
                removed.remove(&id);
                continue;
            }
            self.listing.tree.unlink(parent, last(&path));
            self.has_changed = true;
            self.changed.update(b"removed");
            self.changed.update(&path);
        }
        Ok(())
    }

    /// Appends the content of a file of the tree. Returns false if the file has been removed.
    fn read_to(&mut self, id: InodeId, found: Found) -> Result<bool, StageError> {
        let Some((found, metadata)) = self.read(found)? else {
            return Ok(false);
        };
        let inode = self.listing.tree.inode_mut(id);
        if let Some(metadata) = metadata {
            let xattrs = std::mem::take(&mut inode.metadata.xattrs);
            inode.metadata = Metadata { xattrs, ..metadata };
        }
        inode.kind = FileKind::Regular(Content::Host(found));
        Ok(true)
    }

    /// Appends the content of a file, again if it changed meanwhile. Returns its new metadata, too, if it
    /// changed since it was listed. `None` if it has been removed.
    fn read(&mut self, mut found: Found) -> Result<Option<(Found, Option<Metadata>)>, StageError> {
        let directory = self.listing.directories[found.source].clone();
        let (cannot_open, cannot_examine) = (
            failed("open", &directory, &found.path),
            failed("examine", &directory, &found.path),
        );
        let path = joined(&directory, &found.path);
        for _ in 0..TRIES {
            let file = open_file(&self.sources[found.source], &found.path);
            let file = match file {
                Ok(file) => file,
                // A file or a symlink may be in the place of it or of a directory above.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                Err(error) => return Err(cannot_open(error)),
            };
            let stat = fstat(&file).map_err(&cannot_examine)?;
            let before = Stamp::new(&stat);
            let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            // A second change within a tick of the clock would not show.
            if !is_file || before.time_to_rest().is_some() {
                sleep(before.time_to_rest().unwrap_or_default());
                continue;
            }
            let data = self.append(&file, before.size_bytes, &path)?;
            if Stamp::new(&fstat(&file).map_err(&cannot_examine)?) != before {
                continue;
            }
            found.data = data;
            if before == found.stamp {
                return Ok(Some((found, None)));
            }
            self.has_changed = true;
            before.add_to(&mut self.changed);
            found.stamp = before;
            return Ok(Some((found, Some(plain_metadata(&stat)))));
        }
        Err(StageError::Changing { path, tries: TRIES })
    }

    /// Appends the content of an open file; its holes stay holes.
    fn append(
        &mut self,
        file: &File,
        size_bytes: u64,
        path: &Path,
    ) -> Result<FileData, StageError> {
        let failed = |source| StageError::Host {
            action: "read",
            path: path.to_owned(),
            source,
        };
        let segments = tree_archive::segments(file, size_bytes).map_err(failed)?;
        let mut data = FileData {
            size_bytes,
            ..FileData::default()
        };
        for (start_bytes, end_bytes) in stretches(&segments, size_bytes) {
            let mut content = Stretch {
                file,
                offset_bytes: start_bytes,
                failure: None,
            };
            let appended = self.writer.append(&mut content, end_bytes - start_bytes);
            if let Some(source) = content.failure {
                return Err(failed(source));
            }
            let run = appended.map_err(StageError::Image)?;
            let extent = run.map(|run| run.at(start_bytes / BLOCK_SIZE_BYTES));
            data.extents.extend(extent);
        }
        Ok(data)
    }
}

/// Returns the ranges of bytes that are stored: segments extended to whole blocks, those that touch as one.
fn stretches(segments: &[Segment], size_bytes: u64) -> Vec<(u64, u64)> {
    let mut stretches: Vec<(u64, u64)> = Vec::new();
    for segment in segments {
        let start = segment.offset_bytes / BLOCK_SIZE_BYTES * BLOCK_SIZE_BYTES;
        let end = segment.offset_bytes.saturating_add(segment.length_bytes);
        let end = end.next_multiple_of(BLOCK_SIZE_BYTES).min(size_bytes);
        match stretches.last_mut() {
            Some(last) if last.1 >= start => last.1 = last.1.max(end),
            _ => stretches.push((start, end)),
        }
    }
    stretches
}

/// A range of a file. A file that has become shorter ends in zeros: its new stamp shows that it changed.
struct Stretch<'a> {
    file: &'a File,
    offset_bytes: u64,
    failure: Option<io::Error>,
}

impl Read for Stretch<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.file.read_at(buffer, self.offset_bytes) {
            Ok(0) => {
                buffer.fill(0);
                Ok(buffer.len())
            }
            Ok(count) => {
                self.offset_bytes += u64::try_from(count).map_err(io::Error::other)?;
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = error.kind();
                self.failure = Some(error);
                Err(kind.into())
            }
        }
    }
}
