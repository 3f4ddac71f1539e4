use std::io;
use std::sync::Arc;

use ext4_writer::{FileContent, OpenedContent};
use fstree::{Extent, FileKind, Inode, Metadata, ReadAt};
use rootfs_view::Content;

use crate::disks::Disks;

/// The content of a file on the new disk.
#[derive(Debug, Clone)]
pub(crate) enum DiskFile {
    /// The content itself, in memory.
    Bytes(Vec<u8>),
    /// The content stays where it is, in these runs of blocks of files outside of the new disk: the device n is
    /// the n-th of them.
    Outside {
        size_bytes: u64,
        extents: Vec<Extent>,
    },
    /// A file of the sandbox or of its image.
    OnDisk { disks: Arc<Disks>, content: Content },
}

impl DiskFile {
    pub(crate) fn on_disk(disks: &Arc<Disks>, content: &Content) -> Self {
        Self::OnDisk {
            disks: Arc::clone(disks),
            content: content.clone(),
        }
    }

    /// Returns a regular file with this content.
    pub(crate) fn inode(bytes: Vec<u8>) -> Inode<Self> {
        Inode {
            metadata: Metadata::with_mode(0o644),
            kind: FileKind::Regular(Self::Bytes(bytes)),
        }
    }
}

impl FileContent for DiskFile {
    fn size_bytes(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => FileContent::size_bytes(bytes),
            Self::Outside { size_bytes, .. } => *size_bytes,
            Self::OnDisk { content, .. } => content.size_bytes(),
        }
    }

    fn open(&self) -> io::Result<OpenedContent<'_>> {
        match self {
            Self::Bytes(bytes) => bytes.open(),
            Self::Outside { .. } => Err(io::ErrorKind::Unsupported.into()),
            Self::OnDisk { disks, content } => {
                let segments = disks.view.segments(content).into_iter();
                let range = |one: fstree::Segment| {
                    one.offset_bytes..one.offset_bytes.saturating_add(one.length_bytes)
                };
                Ok(OpenedContent {
                    bytes: Box::new(Reader { disks, content }),
                    data: segments.map(range).collect(),
                })
            }
        }
    }

    fn outside(&self) -> Option<&[Extent]> {
        match self {
            Self::Outside { extents, .. } => Some(extents),
            Self::Bytes(_) | Self::OnDisk { .. } => None,
        }
    }
}

/// A file of the sandbox, which is read where it lies.
struct Reader<'a> {
    disks: &'a Disks,
    content: &'a Content,
}

impl ReadAt for Reader<'_> {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        let read = self.disks.view.read_at(self.content, offset_bytes, buf);
        read.map_err(io::Error::other)
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.content.size_bytes())
    }
}
