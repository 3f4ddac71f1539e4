use std::collections::{HashMap, btree_map};
use std::io::{self, Write};

use fstree::{FileKind, InodeId, Metadata, Name, ReadAt};
use rootfs_view::{Content, View};
use tree_archive::{ArchiveWriter, EntryHeader, EntryKind, check_path, packed_xattrs};

use super::FilesError;
use super::covered::Covered;

#[cfg(test)]
mod tests;

/// Adds a file, or a directory with its content, to an archive, in the same form as the agent.
/// The content of `mounts` is left out: their directories are empty.
///
/// Only one path is in memory at a time: a guest needs few blocks for many long names.
pub(crate) fn pack_view<R: ReadAt, W: Write>(
    view: &View<R>,
    id: InodeId,
    name: &[u8],
    mounts: Option<&Covered>,
    archive: &mut ArchiveWriter<W>,
) -> Result<(), FilesError> {
    let mut packer = Packer {
        view,
        archive,
        mounts,
        links: view.tree().link_counts(),
        top: name,
        first_names: HashMap::new(),
        names: HashMap::new(),
    };
    let mut path = name.to_vec();
    let mut open = Vec::new();
    open.extend(packer.pack(id, None, &path)?);
    while let Some(directory) = open.last_mut() {
        let Some((name, &id)) = directory.names.next() else {
            open.pop();
            continue;
        };
        path.truncate(directory.path_bytes);
        path.push(b'/');
        path.extend_from_slice(name.as_bytes());
        let entry = EntryName {
            directory: directory.id,
            name,
        };
        let inner = packer.pack(id, Some(entry), &path)?;
        open.extend(inner);
    }
    Ok(())
}

/// A directory whose names are being packed.
struct OpenDirectory<'a> {
    id: InodeId,
    /// Length of the directory's path, in bytes.
    path_bytes: usize,
    names: btree_map::Iter<'a, Name, InodeId>,
}

/// A name in a directory.
#[derive(Clone, Copy)]
struct EntryName<'a> {
    directory: InodeId,
    name: &'a Name,
}

struct Packer<'a, R, W> {
    view: &'a View<R>,
    archive: &'a mut ArchiveWriter<W>,
    mounts: Option<&'a Covered>,
    links: Vec<u64>,
    /// The name of the packed file in the archive.
    top: &'a [u8],
    /// The first names of files that have several; `None` is the top.
    first_names: HashMap<InodeId, Option<EntryName<'a>>>,
    /// The names of the directories, except the top.
    names: HashMap<InodeId, EntryName<'a>>,
}

impl<'a, R: ReadAt, W: Write> Packer<'a, R, W> {
    /// Adds one name. Returns the directory to enter; `None` if there is none.
    fn pack(
        &mut self,
        id: InodeId,
        entry: Option<EntryName<'a>>,
        path: &[u8],
    ) -> Result<Option<OpenDirectory<'a>>, FilesError> {
        let names = self.view.tree().directory(id);
        let is_mount = self.mounts.is_some_and(|mounts| mounts.is_mount(id));
        if is_mount && names.is_none() {
            return Ok(None);
        }
        check_path(path)?;
        self.add(id, entry, path)
            .map_err(|source| FilesError::Path {
                action: "pack",
                path: path.into(),
                source,
            })?;
        let Some(names) = names.filter(|_| !is_mount) else {
            return Ok(None);
        };
        self.names.extend(entry.map(|entry| (id, entry)));
        Ok(Some(OpenDirectory {
            id,
            path_bytes: path.len(),
            names: names.iter(),
        }))
    }

    /// Returns the path of a name in the archive.
    fn path_of(&self, entry: Option<EntryName<'_>>) -> Vec<u8> {
        let mut names = Vec::new();
        let mut next = entry;
        while let Some(EntryName { directory, name }) = next {
            names.push(name.as_bytes());
            next = self.names.get(&directory).copied();
        }
        names.push(self.top);
        names.reverse();
        names.join(&b'/')
    }

    fn add(&mut self, id: InodeId, entry: Option<EntryName<'a>>, path: &[u8]) -> io::Result<()> {
        let inode = self.view.tree().inode(id);
        let (kind, link) = match &inode.kind {
            FileKind::Regular(_) => (EntryKind::Regular, &b""[..]),
            FileKind::Directory(_) => (EntryKind::Directory, &b""[..]),
            FileKind::Symlink(target) => (EntryKind::Symlink, &target[..]),
            FileKind::CharDevice(device) => (EntryKind::CharDevice(*device), &b""[..]),
            FileKind::BlockDevice(device) => (EntryKind::BlockDevice(*device), &b""[..]),
            FileKind::Fifo => (EntryKind::Fifo, &b""[..]),
            FileKind::Socket => return Ok(()),
        };
        let metadata = Metadata {
            xattrs: packed_xattrs(&inode.metadata.xattrs),
            ..inode.metadata
        };
        let header = EntryHeader {
            path,
            kind,
            link,
            metadata: &metadata,
        };
        if kind != EntryKind::Directory && self.links[id.index()] > 1 {
            if let Some(&first) = self.first_names.get(&id) {
                let link = EntryHeader {
                    kind: EntryKind::Hardlink,
                    link: &self.path_of(first),
                    ..header
                };
                return Ok(self.archive.entry(&link)?);
            }
            self.first_names.insert(id, entry);
        }
        match &inode.kind {
            FileKind::Regular(content) => self.add_content(&header, content),
            _ => Ok(self.archive.entry(&header)?),
        }
    }

    fn add_content(&mut self, header: &EntryHeader<'_>, content: &Content) -> io::Result<()> {
        let view = self.view;
        let mut read = |offset_bytes, buffer: &mut [u8]| {
            view.read_at(content, offset_bytes, buffer)
                .map_err(io::Error::other)
        };
        let (size_bytes, segments) = (content.size_bytes(), view.segments(content));
        self.archive.file(header, size_bytes, segments, &mut read)?;
        Ok(())
    }
}
