use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};

use fstree::{FileKind, InodeId};
use rootfs_view::{Content, View};
use tree_archive::{ArchiveWriter, EntryKind, Head, Segment};

use super::FilesError;

/// Adds a file, or a directory and all that is in it, to an archive, as the agent of a sandbox that
/// runs packs it.
pub(super) fn pack_view<W: Write>(
    view: &View<File>,
    id: InodeId,
    name: &[u8],
    archive: &mut ArchiveWriter<W>,
) -> Result<(), FilesError> {
    let mut packer = Packer {
        view,
        archive,
        links: view.tree().link_counts(),
        names: HashMap::new(),
    };
    let mut ahead = vec![(id, name.to_vec())];
    while let Some((id, path)) = ahead.pop() {
        packer.add(id, &path).map_err(|source| FilesError::Path {
            action: "pack",
            path: path.as_slice().into(),
            source,
        })?;
        // The first name is to come first off the end.
        let names = view.tree().directory(id).into_iter().flatten();
        let mut names: Vec<_> = names
            .map(|(name, &id)| (id, [&path, &b"/"[..], name.as_bytes()].concat()))
            .collect();
        names.sort_by(|one, other| other.1.cmp(&one.1));
        ahead.extend(names);
    }
    Ok(())
}

struct Packer<'a, W> {
    view: &'a View<File>,
    archive: &'a mut ArchiveWriter<W>,
    links: Vec<u64>,
    /// The first names of files that have several.
    names: HashMap<InodeId, Vec<u8>>,
}

impl<W: Write> Packer<'_, W> {
    fn add(&mut self, id: InodeId, path: &[u8]) -> io::Result<()> {
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
        let metadata = &inode.metadata;
        let head = Head {
            path,
            kind,
            link,
            metadata,
        };
        if kind != EntryKind::Directory && self.links[id.index()] > 1 {
            if let Some(first) = self.names.get(&id) {
                let link = Head {
                    kind: EntryKind::Hardlink,
                    link: first,
                    ..head
                };
                return self.archive.entry(&link);
            }
            self.names.insert(id, path.to_vec());
        }
        match &inode.kind {
            FileKind::Regular(content) => self.add_content(&head, content),
            _ => self.archive.entry(&head),
        }
    }

    fn add_content(&mut self, head: &Head<'_>, content: &Content) -> io::Result<()> {
        let view = self.view;
        let segments = view.segments(content).into_iter().map(|segment| Segment {
            offset_bytes: segment.offset_bytes,
            length_bytes: segment.length_bytes,
        });
        let mut read = |offset_bytes, buffer: &mut [u8]| {
            view.read_at(content, offset_bytes, buffer)
                .map_err(io::Error::other)
        };
        let size_bytes = content.size_bytes();
        self.archive
            .file(head, size_bytes, segments.collect(), &mut read)
    }
}
