use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use oci_layers::{InvalidHeader, Limit, Limits};
use tar_stream::{BLOCK_BYTES, Entry, EntryKind, Extensions, Header};

use super::error::ArchiveError;
use super::name::normal;
use super::slice::Slice;

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
        let mut scan = Scan {
            path,
            file,
            limits,
            length_bytes,
            offset_bytes: 0,
        };
        let (mut index, mut extensions) = (Self::default(), Extensions::default());
        while let Some(header) = scan.header()? {
            if header.is_extension() {
                let size_bytes = header.size_bytes().map_err(|fault| scan.invalid(fault))?;
                let body = scan.body(size_bytes)?;
                let added = extensions.add(header.type_flag(), &body);
                added.map_err(|fault| scan.invalid(fault))?;
                scan.pass(size_bytes)?;
                continue;
            }
            let entry = scan.entry(&header, &std::mem::take(&mut extensions))?;
            if let Some((name, node)) = scan.node(&entry)? {
                index.entries.insert(name, node);
            }
            scan.check(Limit::ArchiveFiles, index.entries.len())?;
            scan.pass(entry.size_bytes)?;
        }
        Ok(index)
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

/// A tar's file, and the offset of the header that is next or has just been read.
/// The crate `tar` finds a header and the archive's end; `tar-stream` interprets headers.
struct Scan<'a> {
    path: &'a Path,
    file: &'a File,
    limits: &'a Limits,
    length_bytes: u64,
    offset_bytes: u64,
}

impl Scan<'_> {
    /// Returns the next header; `None` at the end.
    fn header(&self) -> Result<Option<Header>, ArchiveError> {
        let left_bytes = self.length_bytes - self.offset_bytes;
        if (1..BLOCK_SIZE_BYTES).contains(&left_bytes) {
            return Err(self.truncated());
        }
        let rest = Slice::new(self.file, self.offset_bytes..self.length_bytes);
        let mut archive = tar::Archive::new(rest);
        let mut entries = archive.entries().map_err(ArchiveError::Io)?.raw(true);
        match entries.next().transpose() {
            Ok(Some(entry)) => {
                let header = Header::parse(entry.header().as_bytes());
                header.map(Some).map_err(|fault| self.invalid(fault))
            }
            Ok(None) => self.check_end().map(|()| None),
            Err(error) if error.raw_os_error().is_some() => Err(ArchiveError::Io(error)),
            Err(_) if self.offset_bytes == 0 => Err(self.unknown()),
            Err(error) => Err(self.invalid(error)),
        }
    }

    /// Checks the archive's end: a block of zeros must be the last one, or a second must follow.
    fn check_end(&self) -> Result<(), ArchiveError> {
        let second_bytes = self.offset_bytes + BLOCK_SIZE_BYTES;
        if second_bytes >= self.length_bytes {
            return Ok(());
        }
        let mut block = [0; BLOCK_BYTES];
        self.read_at(&mut block, second_bytes)?;
        if block == [0; BLOCK_BYTES] {
            Ok(())
        } else {
            Err(self.invalid(InvalidHeader::LoneZeroBlock))
        }
    }

    /// Returns the body of an extended header.
    fn body(&self, size_bytes: u64) -> Result<Vec<u8>, ArchiveError> {
        let size = usize::try_from(size_bytes).map_err(|_| self.truncated())?;
        self.check(Limit::EntryRecord, size)?;
        if size_bytes > self.length_bytes {
            return Err(self.truncated());
        }
        let mut body = vec![0; size];
        self.read_at(&mut body, self.offset_bytes + BLOCK_SIZE_BYTES)?;
        Ok(body)
    }

    /// Returns the entry that a header begins.
    fn entry(&self, header: &Header, extensions: &Extensions) -> Result<Entry, ArchiveError> {
        let entry = extensions.entry(header, self.offset_bytes);
        let entry = entry.map_err(|fault| self.invalid(fault))?;
        self.check(Limit::EntryPath, entry.path.len())?;
        self.check(Limit::EntryPath, entry.link.len())?;
        if extensions.is_sparse(header) {
            return Err(ArchiveError::Sparse {
                path: self.path.to_owned(),
                name: self.text(&entry.path)?.to_owned(),
            });
        }
        Ok(entry)
    }

    /// Returns an entry's name and its node in the index.
    /// `None` for an entry that is neither a file nor a link, or is outside the archive's root.
    /// Later entries replace earlier ones.
    fn node(&self, entry: &Entry) -> Result<Option<(String, Node)>, ArchiveError> {
        let (path, link) = (self.text(&entry.path)?, self.text(&entry.link)?);
        let Some(name) = normal(path) else {
            return Ok(None);
        };
        let node = match entry.kind {
            EntryKind::Regular => Some(Node::File(ByteRange {
                offset_bytes: self.offset_bytes + BLOCK_SIZE_BYTES,
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

    /// Skips a header and the content of this size that follows it.
    fn pass(&mut self, size_bytes: u64) -> Result<(), ArchiveError> {
        let content_bytes = self.offset_bytes + BLOCK_SIZE_BYTES;
        let end = content_bytes.checked_add(size_bytes);
        let end = end.filter(|&end| end <= self.length_bytes);
        let end = end.ok_or_else(|| self.truncated())?;
        // The padding of the last entry may be missing.
        self.offset_bytes = end
            .next_multiple_of(BLOCK_SIZE_BYTES)
            .min(self.length_bytes);
        Ok(())
    }

    fn text<'t>(&self, name: &'t [u8]) -> Result<&'t str, ArchiveError> {
        std::str::from_utf8(name).map_err(|_| ArchiveError::Name {
            path: self.path.to_owned(),
            name: name.into(),
            offset_bytes: self.offset_bytes,
        })
    }

    fn read_at(&self, buffer: &mut [u8], offset_bytes: u64) -> Result<(), ArchiveError> {
        match self.file.read_exact_at(buffer, offset_bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.truncated()),
            Err(error) => Err(ArchiveError::Io(error)),
            Ok(()) => Ok(()),
        }
    }

    fn check(&self, limit: Limit, amount: usize) -> Result<(), ArchiveError> {
        let amount = u64::try_from(amount).unwrap_or(u64::MAX);
        let checked = self.limits.check(limit, amount);
        checked.map_err(|source| ArchiveError::Limit {
            path: self.path.to_owned(),
            source,
        })
    }

    /// The error of a tar that ends within an entry. A file shorter than a header is not a tar.
    fn truncated(&self) -> ArchiveError {
        if self.length_bytes < BLOCK_SIZE_BYTES {
            return self.unknown();
        }
        ArchiveError::Truncated {
            path: self.path.to_owned(),
            length_bytes: self.length_bytes,
        }
    }

    /// The error of the header that is next or has just been read.
    fn invalid(&self, fault: impl Error + Send + Sync + 'static) -> ArchiveError {
        ArchiveError::Header {
            path: self.path.to_owned(),
            offset_bytes: self.offset_bytes,
            source: Box::new(fault),
        }
    }

    fn unknown(&self) -> ArchiveError {
        ArchiveError::Unknown {
            path: self.path.to_owned(),
        }
    }
}
