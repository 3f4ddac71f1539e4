use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use fstree::{FileKind, InodeId, Segment};
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use tree_diff::Change;

use super::attributes::Attributes;
use super::host_directory::HostDirectory;
use super::host_file::HostFile;
use super::{ApplyError, HostSource};

/// Bytes of content that are compared at a time.
const PIECE_BYTES: u64 = 64 << 10;

/// Files of the host beside those of the sandbox.
#[derive(Debug)]
pub(super) struct Comparison<'a, S> {
    pub(super) old: &'a S,
    pub(super) new: &'a S,
    pub(super) directory: &'a HostDirectory,
    /// True if owners are compared too.
    pub(super) keep_owner: bool,
}

impl<S: HostSource> Comparison<'_, S> {
    /// Returns a name in the host's directory that the old directory does not have. `None` if there
    /// is none.
    pub(super) fn other_name(
        &self,
        path: &[u8],
        old: InodeId,
        host: &HostFile,
    ) -> Result<Option<Vec<u8>>, ApplyError> {
        let names = host.names().map_err(self.directory.failed("list", path))?;
        let is_known = |name: &Vec<u8>| {
            let id = self.old.tree().lookup(old, name);
            id.is_some_and(|id| !self.old.is_hidden(id))
        };
        Ok(names.into_iter().find(|name| !is_known(name)))
    }

    /// Returns true if the host's file is the old one, in content and attributes.
    pub(super) fn is_old(
        &self,
        path: &[u8],
        change: &Change,
        host: &HostFile,
    ) -> Result<bool, ApplyError> {
        let Some(old) = change.old else {
            return Ok(false);
        };
        Ok(self.has_attributes(self.old, old, host)
            && self.has_content(path, self.old, old, host)?)
    }

    pub(super) fn has_attributes(&self, side: &S, id: InodeId, host: &HostFile) -> bool {
        let inode = side.tree().inode(id);
        let is_symlink = matches!(inode.kind, FileKind::Symlink(_));
        let wanted = Attributes::of_sandbox(&inode.metadata, self.keep_owner);
        let found = Attributes::of_host(&host.stat, self.keep_owner);
        found == wanted || (is_symlink && found.owner == wanted.owner)
    }

    /// Decides which attributes a file that both trees have gets. `None` if the sandbox did not
    /// change them.
    pub(super) fn attributes(&self, old: InodeId, new: InodeId, host: &HostFile) -> Option<Wanted> {
        let of =
            |side: &S, id| Attributes::of_sandbox(&side.tree().inode(id).metadata, self.keep_owner);
        let (old, new) = (of(self.old, old), of(self.new, new));
        let host = Attributes::of_host(&host.stat, self.keep_owner);
        if old == new {
            None
        } else if host == new {
            Some(Wanted::Host)
        } else if host == old {
            Some(Wanted::New)
        } else {
            Some(Wanted::Conflict)
        }
    }

    /// Returns true if the host's file is of the same type as a file of the sandbox, and has the
    /// same content or target.
    pub(super) fn has_content(
        &self,
        path: &[u8],
        side: &S,
        id: InodeId,
        host: &HostFile,
    ) -> Result<bool, ApplyError> {
        let inode = side.tree().inode(id);
        if host.file_type() != Some(inode.kind.file_type()) {
            return Ok(false);
        }
        let failed = self.directory.failed("read", path);
        match &inode.kind {
            FileKind::Regular(content) => {
                let size_bytes = u64::try_from(host.stat.st_size).ok();
                if size_bytes != Some(side.size_bytes(content)) {
                    return Ok(false);
                }
                let file = host.open().map_err(&failed)?;
                is_equal(&file, side, content).map_err(|error| match error {
                    Unequal::Host(error) => failed(error),
                    Unequal::Sandbox(source) => ApplyError::Read {
                        path: path.to_vec(),
                        source,
                    },
                })
            }
            FileKind::Symlink(target) => Ok(host.link_target().map_err(failed)? == target[..]),
            FileKind::Directory(_) | FileKind::Fifo | FileKind::Socket => Ok(true),
            FileKind::CharDevice(_) | FileKind::BlockDevice(_) => Ok(false),
        }
    }
}

/// The attributes that a file of the host gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Those that it has.
    Host,
    /// Those that the sandbox gave it.
    New,
    /// The host and the sandbox gave it different ones.
    Conflict,
}

enum Unequal {
    Host(Errno),
    Sandbox(io::Error),
}

/// Compares a file of the host with one of the sandbox that has the same size. What is a hole in
/// both is not read.
fn is_equal<S: HostSource>(file: &File, side: &S, content: &S::Content) -> Result<bool, Unequal> {
    let size_bytes = side.size_bytes(content);
    let segments = side.segments(content);
    let (mut one, mut other) = (Vec::new(), Vec::new());
    let mut offset_bytes = 0;
    while offset_bytes < size_bytes {
        let in_sandbox = next_segment(&segments, offset_bytes);
        let on_host = next_data(file, offset_bytes).map_err(Unequal::Host)?;
        let Some(next_bytes) = in_sandbox.into_iter().chain(on_host).min() else {
            break;
        };
        offset_bytes = next_bytes;
        if offset_bytes >= size_bytes {
            break;
        }
        let length_bytes = PIECE_BYTES.min(size_bytes - offset_bytes);
        let length = usize::try_from(length_bytes).unwrap_or(0);
        one.resize(length, 0);
        other.resize(length, 0);
        side.read_at(content, offset_bytes, &mut one)
            .map_err(|error| Unequal::Sandbox(io::Error::other(error)))?;
        match file.read_exact_at(&mut other, offset_bytes) {
            Ok(()) => {}
            // The file became shorter meanwhile.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => {
                let error = Errno::from_io_error(&error);
                return Err(Unequal::Host(error.unwrap_or(Errno::IO)));
            }
        }
        if one != other {
            return Ok(false);
        }
        offset_bytes += length_bytes;
    }
    Ok(true)
}

/// Returns the first offset at or after another one that is in a segment. `None` if there is none.
fn next_segment(segments: &[Segment], offset_bytes: u64) -> Option<u64> {
    let end_bytes = |one: &Segment| one.offset_bytes.saturating_add(one.length_bytes);
    let next = segments.partition_point(|one| end_bytes(one) <= offset_bytes);
    let next = segments.get(next)?;
    Some(next.offset_bytes.max(offset_bytes))
}

/// Returns the first offset at or after another one where a file has data. `None` if there is none.
pub(super) fn next_data(file: &File, offset_bytes: u64) -> rustix::io::Result<Option<u64>> {
    match seek(file, SeekFrom::Data(offset_bytes)) {
        Ok(next_bytes) => Ok(Some(next_bytes)),
        Err(Errno::NXIO) => Ok(None),
        // A filesystem that does not know its holes.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(Some(offset_bytes)),
        Err(error) => Err(error),
    }
}
