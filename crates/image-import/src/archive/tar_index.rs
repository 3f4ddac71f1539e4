use std::collections::BTreeMap;
use std::fs::File;
use std::io::Seek as _;
use std::path::Path;

use fstree::Segment;
use oci_layers::{Exceeded, InvalidHeader, Limit, Limits};
use tar_stream::{ArchiveReader, BLOCK_BYTES, Entry, EntryKind, ReadError};

use super::error::ArchiveError;
use super::name::normal;

#[cfg(test)]
mod tests;

/// [`BLOCK_BYTES`] in the type of offsets.
const BLOCK_SIZE_BYTES: u64 = BLOCK_BYTES as u64;
/// Most links that may lead from a name to a file.
const LINKS_MAX: usize = 8;

/// The positions of a tar's files, by name.
#[derive(Debug, Default)]
pub(super) struct TarIndex {
    entries: BTreeMap<String, Node>,
}

/// The position of a file's content in the tar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByteRange {
    pub(super) offset_bytes: u64,
    pub(super) size_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    File(ByteRange),
    /// The target of the link, from the archive's root.
    Link(String),
}

impl TarIndex {
    /// Reads all headers, as strictly as those of a layer.
    /// A tar that ends within an entry is an error; a tar without the two blocks of zeros at its
    /// end is not.
    pub(super) fn read(path: &Path, file: &File, limits: &Limits) -> Result<Self, ArchiveError> {
        let length_bytes = file.metadata().map_err(ArchiveError::Io)?.len();
        let mut tar = file;
        tar.rewind().map_err(ArchiveError::Io)?;
        // Bytes after the archive's end are not read.
        let tar_limits = tar_stream::Limits {
            trailing_bytes: u64::MAX,
            ..limits.of_archive()
        };
        let mut archive = ArchiveReader::seekable(tar, tar_limits);
        let mut index = Self::default();
        loop {
            let entry = archive.next_entry();
            let entry = entry.map_err(|error| unread(path, length_bytes, error))?;
            let Some(entry) = entry else {
                return Ok(index);
            };
            // Later entries replace earlier ones.
            index
                .entries
                .extend(node(path, &entry, archive.offset_bytes())?);
            let count = u64::try_from(index.entries.len()).unwrap_or(u64::MAX);
            let checked = limits.check(Limit::ArchiveFiles, count);
            checked.map_err(|source| beyond(path, source))?;
        }
    }

    /// Returns the file of this name; links are followed.
    pub(super) fn find(&self, name: &str) -> Option<ByteRange> {
        let mut name = normal(name)?;
        for _ in 0..=LINKS_MAX {
            match self.entries.get(&name)? {
                Node::File(place) => return Some(*place),
                Node::Link(target) => name.clone_from(target),
            }
        }
        None
    }
}

/// Returns an entry's name and its node in the index. The content begins at this offset.
/// `None` for an entry that is neither a file nor a link, or is outside the archive's root.
fn node(
    path: &Path,
    entry: &Entry,
    offset_bytes: u64,
) -> Result<Option<(String, Node)>, ArchiveError> {
    let text = |name| text(path, entry, name);
    let (name, link) = (text(&entry.path)?, text(&entry.link)?);
    if entry.segments != Segment::whole_file(entry.size_bytes) {
        return Err(ArchiveError::Sparse {
            path: path.to_owned(),
            name: name.to_owned(),
        });
    }
    let Some(name) = normal(name) else {
        return Ok(None);
    };
    let node = match entry.kind {
        EntryKind::Regular => Some(Node::File(ByteRange {
            offset_bytes,
            size_bytes: entry.size_bytes,
        })),
        EntryKind::Hardlink => normal(link).map(Node::Link),
        EntryKind::Symlink => {
            let parent = name.rsplit_once('/').map_or("", |(parent, _)| parent);
            let target = match link.strip_prefix('/') {
                Some(absolute) => absolute.to_owned(),
                None => format!("{parent}/{link}"),
            };
            normal(&target).map(Node::Link)
        }
        _ => None,
    };
    Ok(node.map(|node| (name, node)))
}

fn text<'t>(path: &Path, entry: &Entry, name: &'t [u8]) -> Result<&'t str, ArchiveError> {
    std::str::from_utf8(name).map_err(|_| ArchiveError::Name {
        path: path.to_owned(),
        name: name.into(),
        offset_bytes: entry.offset_bytes,
    })
}

fn beyond(path: &Path, source: Exceeded) -> ArchiveError {
    ArchiveError::Limit {
        path: path.to_owned(),
        source,
    }
}

/// Returns the error for the reader's. A file that is shorter than a header, or begins with another
/// block than a header, is not a tar.
fn unread(path: &Path, length_bytes: u64, error: ReadError) -> ArchiveError {
    let path = path.to_owned();
    match error {
        ReadError::Io { source, .. } => ArchiveError::Io(source),
        ReadError::Truncated { .. } if length_bytes < BLOCK_SIZE_BYTES => {
            ArchiveError::Unknown { path }
        }
        ReadError::Truncated { .. } => ArchiveError::Truncated { path, length_bytes },
        ReadError::Header {
            offset_bytes: 0,
            source: InvalidHeader::Checksum,
        } => ArchiveError::Unknown { path },
        ReadError::Header {
            offset_bytes,
            source,
        } => ArchiveError::Header {
            path,
            offset_bytes,
            source,
        },
        ReadError::Limit { source, .. } => beyond(&path, source.into()),
    }
}
