use std::borrow::Cow;

use fstree::{FileKind, FileType, InodeId, Tree};

use super::census::Census;
use crate::FileData;
use crate::dirent::{Entry, file_type_code, pack};
use crate::error::InvalidInode;
use crate::format::SYMLINK_MAX_BYTES;
use crate::inode::{FileLayout, Limits, device_number};

/// The content of an inode.
#[derive(Debug)]
pub(super) enum Content<'tree> {
    /// No content. The number is the value of `i_u`: a device number, or 0.
    None(u32),
    /// Metadata: a directory's entries or a symbolic link's target.
    Bytes(Cow<'tree, [u8]>),
    /// A file's length in bytes and its layout. The data has been written already.
    File(u64, FileLayout),
}

impl<'tree> Content<'tree> {
    /// Returns the content of `id`. `nids` are the inodes' numbers, by [`InodeId::index`].
    pub(super) fn plan(
        id: InodeId,
        tree: &'tree Tree<FileData>,
        census: &Census,
        limits: &Limits<'_>,
        nids: &[u64],
    ) -> Result<Self, InvalidInode> {
        match &tree.inode(id).kind {
            FileKind::Regular(data) => {
                FileLayout::plan(data, limits).map(|layout| Self::File(data.size_bytes, layout))
            }
            FileKind::Directory(_) => Ok(Self::Bytes(directory(id, tree, census, nids).into())),
            FileKind::Symlink(target) => symlink(target).map(|bytes| Self::Bytes(bytes.into())),
            FileKind::CharDevice(device) | FileKind::BlockDevice(device) => {
                let number = device_number(*device).ok_or(InvalidInode::DeviceNumber {
                    major: device.major,
                    minor: device.minor,
                })?;
                Ok(Self::None(number))
            }
            FileKind::Fifo | FileKind::Socket => Ok(Self::None(0)),
        }
    }
}

fn symlink(target: &[u8]) -> Result<&[u8], InvalidInode> {
    if target.is_empty() || target.len() > SYMLINK_MAX_BYTES {
        return Err(InvalidInode::SymlinkLength {
            length_bytes: target.len(),
        });
    }
    if target.contains(&0) {
        return Err(InvalidInode::SymlinkNul);
    }
    Ok(target)
}

/// Encodes the entries of a directory. `.` and `..` are in their sorted place: `!` comes before
/// both, `.-` between them.
fn directory(id: InodeId, tree: &Tree<FileData>, census: &Census, nids: &[u64]) -> Vec<u8> {
    let dots = [(&b"."[..], id), (&b".."[..], census.parent(id))].map(|(name, id)| Entry {
        name,
        nid: nids[id.index()],
        file_type: file_type_code(FileType::Directory),
    });
    let names = tree.directory(id).into_iter().flatten();
    let mut entries: Vec<Entry<'_>> = names
        .map(|(name, &id)| Entry {
            name: name.as_bytes(),
            nid: nids[id.index()],
            file_type: file_type_code(tree.inode(id).kind.file_type()),
        })
        .collect();
    entries.extend(dots);
    entries.sort_by_key(|entry| entry.name);
    pack(&entries)
}
