use fstree::FileType;
use zerocopy::{FromBytes as _, IntoBytes as _};

use super::page::Page;
use super::{DumpError, Names};
use crate::format::{EXTENTS_FL, Inode, OLD_INODE_BYTES, XATTR_MAGIC, XattrEntryHead, XattrHeader};
use crate::read::ReadAt;

impl<R: ReadAt> Page<'_, '_, R> {
    /// Writes the inodes of a table, except those that are all zeros.
    pub(super) fn inode_table(&mut self, group: u32, names: &Names) -> Result<(), DumpError> {
        let layout = &self.image.layout;
        let table = self.image.group(group)?.inode_table;
        let per_group = layout.inodes_per_group();
        let mut number = group * per_group;
        for block in table..table + layout.inode_table_blocks() {
            let bytes = self.image.blocks.block(block)?;
            for inode in bytes.chunks_exact(self.image.layout.inode_bytes) {
                number += 1;
                if inode.iter().any(|&byte| byte != 0) {
                    writeln!(self.out, "  inode {number} \"{}\"", names.name(number))?;
                    self.inode(inode)?;
                }
            }
        }
        Ok(())
    }

    fn inode(&mut self, bytes: &[u8]) -> Result<(), DumpError> {
        let mut disk = Inode::default();
        let shown = bytes.len().min(size_of::<Inode>());
        disk.as_mut_bytes()[..shown].copy_from_slice(&bytes[..shown]);
        let mode = disk.i_mode.get();
        let letter = FileType::from_mode(mode).map_or('?', FileType::letter);
        self.field("i_mode", &format_args!("{mode:#o} {letter}"))?;
        self.numbers(&[
            ("i_uid", disk.i_uid.get().into()),
            ("l_i_uid_high", disk.l_i_uid_high.get().into()),
            ("i_gid", disk.i_gid.get().into()),
            ("l_i_gid_high", disk.l_i_gid_high.get().into()),
            ("i_size_lo", disk.i_size_lo.get().into()),
            ("i_size_high", disk.i_size_high.get().into()),
            ("i_links_count", disk.i_links_count.get().into()),
            ("i_blocks_lo", disk.i_blocks_lo.get().into()),
            ("l_i_blocks_high", disk.l_i_blocks_high.get().into()),
            ("i_generation", disk.i_generation.get().into()),
            ("i_file_acl_lo", disk.i_file_acl_lo.get().into()),
            ("l_i_file_acl_high", disk.l_i_file_acl_high.get().into()),
            ("i_dtime", disk.i_dtime.get().into()),
            ("l_i_version", disk.l_i_version.get().into()),
            ("i_extra_isize", disk.i_extra_isize.get().into()),
        ])?;
        self.flags(&[
            ("i_flags", disk.i_flags.get().into()),
            ("i_atime", disk.i_atime.get().into()),
            ("i_atime_extra", disk.i_atime_extra.get().into()),
            ("i_ctime", disk.i_ctime.get().into()),
            ("i_ctime_extra", disk.i_ctime_extra.get().into()),
            ("i_mtime", disk.i_mtime.get().into()),
            ("i_mtime_extra", disk.i_mtime_extra.get().into()),
            ("i_crtime", disk.i_crtime.get().into()),
            ("i_crtime_extra", disk.i_crtime_extra.get().into()),
            ("l_i_checksum_lo", disk.l_i_checksum_lo.get().into()),
            ("i_checksum_hi", disk.i_checksum_hi.get().into()),
        ])?;
        let block = disk.i_block.as_bytes();
        match disk.i_flags.get() & EXTENTS_FL {
            0 => self.text("i_block", block)?,
            _ => self.extent_node(block)?,
        }
        let extra = usize::from(disk.i_extra_isize.get());
        let rest = bytes.get(OLD_INODE_BYTES + extra..).unwrap_or_default();
        match rest.strip_prefix(&XATTR_MAGIC.to_le_bytes()) {
            Some(entries) => self.xattrs(entries, entries),
            None => self.text("after the fields", rest),
        }
    }

    pub(super) fn xattr_block(&mut self, bytes: &[u8]) -> Result<(), DumpError> {
        let Ok((header, entries)) = XattrHeader::read_from_prefix(bytes) else {
            return Ok(());
        };
        self.numbers(&[
            ("h_refcount", header.h_refcount.get().into()),
            ("h_blocks", header.h_blocks.get().into()),
        ])?;
        self.flags(&[
            ("h_magic", header.h_magic.get().into()),
            ("h_hash", header.h_hash.get().into()),
            ("h_checksum", header.h_checksum.get().into()),
        ])?;
        self.xattrs(entries, bytes)
    }

    /// Writes xattr entries, whose offsets count from the start of `values`.
    fn xattrs(&mut self, entries: &[u8], values: &[u8]) -> Result<(), DumpError> {
        let mut rest = entries;
        while rest.first_chunk().is_some_and(|mark| *mark != [0; 4]) {
            let Ok((head, after)) = XattrEntryHead::read_from_prefix(rest) else {
                break;
            };
            let name_bytes = usize::from(head.e_name_len);
            let name = after.get(..name_bytes).unwrap_or_default();
            let start = usize::from(head.e_value_offs.get());
            let length = usize::try_from(head.e_value_size.get()).unwrap_or(usize::MAX);
            let value = values.get(start..start.saturating_add(length));
            let shown = format_args!(
                "{}:\"{}\" = \"{}\" at {start}, hash {:#010x}",
                head.e_name_index,
                name.escape_ascii(),
                value.unwrap_or_default().escape_ascii(),
                head.e_hash.get(),
            )
            .to_string();
            self.field("xattr", &shown)?;
            let next = (size_of::<XattrEntryHead>() + name_bytes).next_multiple_of(4);
            rest = rest.get(next..).unwrap_or_default();
        }
        Ok(())
    }
}
