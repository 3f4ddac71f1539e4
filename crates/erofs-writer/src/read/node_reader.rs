use std::collections::HashSet;

use fstree::FileType;

use super::{Body, Fault, Image, Node, Pages, ReadAt, ReadError, Spans, Structure, Unsupported};
use crate::dirent::{DirEntry, parse_block};
use crate::format::{INODE_SLOT_BYTES, NULL_ADDRESS, SYMLINK_MAX_BYTES};
use crate::inode::{DiskInode, Form, Layout};

/// Approximate memory of one directory entry beside its name, in bytes.
const ENTRY_OVERHEAD_BYTES: u64 = 48;

/// Reads inodes one at a time, each with its attributes and its content's location.
#[derive(Debug)]
pub(crate) struct NodeReader<'image, R> {
    pub(super) image: &'image Image<R>,
    pub(super) pages: Pages<'image, R>,
    /// Identifiers of the shared xattrs that have been read.
    pub(super) shared_xattrs: HashSet<u32>,
}

impl<'image, R: ReadAt> NodeReader<'image, R> {
    pub(crate) fn new(image: &'image Image<R>) -> Self {
        Self {
            image,
            pages: Pages::new(&image.source, image.size_bytes, image.metadata_bytes),
            shared_xattrs: HashSet::new(),
        }
    }

    /// Reads the inode `nid` with its attributes and content.
    pub(crate) fn read(&mut self, nid: u64) -> Result<Node, ReadError> {
        let structure = Structure::Inode(nid);
        let mut spans = Spans::default();
        let inode = self.inode(nid, &mut spans)?;
        let at = spans.inode.start;
        let file_type = FileType::from_mode(inode.mode)
            .ok_or_else(|| structure.corrupt(at, Fault::Mode { mode: inode.mode }))?;
        let xattrs = self.xattrs(nid, &inode, &mut spans)?;
        let body = match file_type {
            FileType::Directory => {
                let structure = Structure::Directory(nid);
                let content = self.metadata(structure, &inode, &mut spans)?;
                Body::Directory(self.entries(structure, at, &content)?)
            }
            FileType::Symlink => {
                let structure = Structure::Symlink(nid);
                let target = self.metadata(structure, &inode, &mut spans)?;
                let is_target = (1..=SYMLINK_MAX_BYTES).contains(&target.len());
                if !is_target || target.contains(&0) {
                    return Err(structure.corrupt(at, Fault::Target));
                }
                Body::Symlink(target)
            }
            FileType::Regular => Body::Regular(self.file_data(nid, &inode, &mut spans)?),
            _ if inode.layout != Layout::FlatPlain || inode.size_bytes != 0 => {
                return Err(structure.corrupt(at, Fault::Layout));
            }
            _ => Body::None,
        };
        Ok(Node {
            nid,
            inode,
            file_type,
            xattrs,
            body,
            spans,
        })
    }

    fn inode(&mut self, nid: u64, spans: &mut Spans) -> Result<DiskInode, ReadError> {
        let structure = Structure::Inode(nid);
        let meta_block = self.image.disk.meta_blkaddr.get();
        let meta_bytes = self.image.block_size.offset_bytes(meta_block);
        let start = nid
            .checked_mul(INODE_SLOT_BYTES)
            .and_then(|bytes| bytes.checked_add(meta_bytes))
            .ok_or_else(|| structure.corrupt(meta_bytes, Fault::TooLarge))?;
        let first = self.pages.read(structure, start, 2)?;
        let format = u16::from_le_bytes([first[0], first[1]]);
        let bad_format = || ReadError::Unsupported(Unsupported::InodeFormat { nid, format });
        let form = Form::from_format(format).ok_or_else(bad_format)?;
        let bytes = self.pages.read(structure, start, form.length_bytes())?;
        spans.inode = start..start + form.length_bytes();
        let build_time = self.image.superblock().build_time;
        let inode = DiskInode::decode(&bytes, build_time).ok_or_else(bad_format)?;
        let nanoseconds = inode.mtime.nanoseconds;
        if nanoseconds >= 1_000_000_000 {
            return Err(structure.corrupt(start, Fault::Nanoseconds { nanoseconds }));
        }
        match inode.layout {
            Layout::Other(layout @ (1 | 3)) => {
                Err(ReadError::Unsupported(Unsupported::Compressed {
                    nid,
                    layout,
                }))
            }
            Layout::Other(_) => Err(bad_format()),
            _ if i64::try_from(inode.size_bytes).is_err() => {
                Err(structure.corrupt(start, Fault::TooLarge))
            }
            _ => Ok(inode),
        }
    }

    /// Reads the content of a directory or a symbolic link.
    fn metadata(
        &mut self,
        structure: Structure,
        inode: &DiskInode,
        spans: &mut Spans,
    ) -> Result<Vec<u8>, ReadError> {
        let outside_bytes = self.place_tail(structure, inode, spans)?;
        let mut content = Vec::new();
        if outside_bytes > 0 {
            if inode.union == NULL_ADDRESS {
                return Err(structure.corrupt(spans.inode.start, Fault::Layout));
            }
            let size = self.image.block_size;
            let start = size.offset_bytes(inode.union);
            content = self.pages.read(structure, start, outside_bytes)?;
            spans.outside = start..start + size.blocks_of(outside_bytes) * size.bytes();
        }
        let tail_bytes = spans.tail.end - spans.tail.start;
        if tail_bytes > 0 {
            content.extend(self.pages.read(structure, spans.tail.start, tail_bytes)?);
        }
        Ok(content)
    }

    /// Finds the last part of flat content if it lies behind the inode. Returns the length in bytes
    /// of the content before it, which lies in blocks.
    pub(super) fn place_tail(
        &self,
        structure: Structure,
        inode: &DiskInode,
        spans: &mut Spans,
    ) -> Result<u64, ReadError> {
        let size = self.image.block_size;
        let tail_bytes = match inode.layout {
            Layout::FlatPlain => 0,
            Layout::FlatInline if inode.size_bytes == 0 => 0,
            Layout::FlatInline => size.last_block_bytes(inode.size_bytes),
            _ => return Err(structure.corrupt(spans.inode.start, Fault::Layout)),
        };
        let start = spans.end_of_head();
        let end = self.pages.check_bounds(structure, start, tail_bytes)?;
        if tail_bytes > 0 && start / size.bytes() != (end - 1) / size.bytes() {
            return Err(structure.corrupt(start, Fault::InlineCrossesBlock));
        }
        spans.tail = start..end;
        Ok(inode.size_bytes - tail_bytes)
    }

    /// Parses the entries of a whole directory, which must ascend through all of it.
    fn entries(
        &mut self,
        structure: Structure,
        at: u64,
        content: &[u8],
    ) -> Result<Vec<DirEntry>, ReadError> {
        let mut entries: Vec<DirEntry> = Vec::new();
        for block in content.chunks(self.image.block_size.length()) {
            let parsed = parse_block(block).ok_or_else(|| structure.corrupt(at, Fault::Entry))?;
            let memory_bytes =
                ENTRY_OVERHEAD_BYTES * u64::try_from(parsed.len()).unwrap_or(u64::MAX);
            self.pages.charge(structure, at, memory_bytes)?;
            entries.extend(parsed);
        }
        if entries.is_sorted_by(|one, next| one.name < next.name) {
            Ok(entries)
        } else {
            Err(structure.corrupt(at, Fault::NameOrder))
        }
    }
}
