use super::budget::Budget;
use super::dirent::{DirEntry, Entries};
use super::inode::DiskInode;
use super::layout::Layout;
use super::{Fault, ReadError, Structure};
use crate::directory::code;
use crate::features::Incompat;

/// Returns the content of an inode that has no blocks: `i_block`, then the value of `system.data`.
pub(super) fn content(inode: &DiskInode, data: Option<&[u8]>) -> Result<Vec<u8>, ReadError> {
    let mut bytes = inode.block.to_vec();
    bytes.extend_from_slice(data.unwrap_or_default());
    let length = usize::try_from(inode.size_bytes).ok();
    match length.filter(|&length| length <= bytes.len()) {
        Some(length) => bytes.truncate(length),
        None => {
            let fault = Fault::Field {
                name: "i_size",
                value: inode.size_bytes,
            };
            return Err(Structure::Inode(inode.number).corrupt(inode.offset_bytes, fault));
        }
    }
    Ok(bytes)
}

/// Returns the entries of a directory that has no blocks. `i_block` holds the parent's number, then
/// entries; `system.data` holds further entries. `.` and `..` are not stored, but added here.
pub(super) fn entries(
    layout: &Layout,
    inode: &DiskInode,
    data: Option<&[u8]>,
    budget: &mut Budget,
) -> Result<Vec<DirEntry>, ReadError> {
    let (parent, first) = inode.block.split_first_chunk().expect("60 bytes");
    let has_types = layout.incompat.contains(Incompat::FILETYPE);
    let dots = |number, name: &[u8]| DirEntry {
        inode: number,
        name: name.into(),
        file_type: if has_types {
            code(fstree::FileType::Directory)
        } else {
            0
        },
    };
    let corrupt = |fault| Structure::Directory(inode.number).corrupt(inode.offset_bytes, fault);
    let mut entries = Entries::default();
    for dots in [
        dots(inode.number, b"."),
        dots(u32::from_le_bytes(*parent), b".."),
    ] {
        entries.add(dots).map_err(corrupt)?;
    }
    for bytes in [first, data.unwrap_or_default()] {
        entries.parse(layout, bytes).map_err(corrupt)?;
        entries.charge(budget)?;
    }
    Ok(entries.into_entries())
}
