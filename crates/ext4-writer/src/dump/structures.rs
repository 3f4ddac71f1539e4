use zerocopy::{FromBytes as _, IntoBytes as _};

use super::DumpError;
use super::page::Page;
use crate::features::{Compat, Incompat, RoCompat};
use crate::format::{
    self, DirEntryHead, DirEntryTail, ExtentHeader, ExtentIndex, JournalSuperBlock, SuperBlock,
    TAIL_FILE_TYPE, whole,
};
use crate::read::ReadAt;
use crate::verify::Region;

impl<R: ReadAt> Page<'_, '_, R> {
    pub(super) fn superblock(&mut self) -> Result<(), DumpError> {
        for (name, value) in superblock_fields(&self.image.layout.disk) {
            self.field(name, &value)?;
        }
        Ok(())
    }

    /// Writes the fields of a copy that differ from the superblock.
    pub(super) fn superblock_copy(&mut self, group: u32) -> Result<(), DumpError> {
        let layout = &self.image.layout;
        let mut copy = layout.disk.clone();
        let offset_bytes = layout.first_block(group) * layout.block_size();
        self.image.blocks.read(copy.as_mut_bytes(), offset_bytes)?;
        let original = superblock_fields(&layout.disk);
        for field in superblock_fields(&copy) {
            if !original.contains(&field) {
                self.field(field.0, &field.1)?;
            }
        }
        Ok(())
    }

    pub(super) fn descriptors(&mut self) -> Result<(), DumpError> {
        for number in 0..self.image.layout.groups {
            let group = self.image.group(number)?;
            writeln!(self.out, "  group {number}")?;
            self.numbers(&[
                ("bg_block_bitmap", group.block_bitmap),
                ("bg_inode_bitmap", group.inode_bitmap),
                ("bg_inode_table", group.inode_table),
                ("bg_free_blocks_count", group.free_blocks.into()),
                ("bg_free_inodes_count", group.free_inodes.into()),
                ("bg_used_dirs_count", group.used_directories.into()),
                ("bg_itable_unused", group.itable_unused.into()),
            ])?;
            self.flags(&[
                ("bg_flags", group.flags.into()),
                ("bg_block_bitmap_csum", group.block_bitmap_csum.into()),
                ("bg_inode_bitmap_csum", group.inode_bitmap_csum.into()),
                ("bg_checksum", group.checksum.into()),
            ])?;
        }
        Ok(())
    }

    /// Writes a node of an extent tree, from an inode or a block.
    pub(super) fn extent_node(&mut self, bytes: &[u8]) -> Result<(), DumpError> {
        let Ok((header, rest)) = ExtentHeader::read_from_prefix(bytes) else {
            return Ok(());
        };
        let depth = header.eh_depth.get();
        let (entries, most) = (header.eh_entries.get(), header.eh_max.get());
        self.field(
            "extents",
            &format_args!("{entries} of {most}, depth {depth}"),
        )?;
        let each = size_of::<format::Extent>();
        for entry in rest.chunks_exact(each).take(entries.into()) {
            if depth > 0 {
                let index = ExtentIndex::read_from_bytes(entry).expect("as long as its chunk");
                let leaf = whole(index.ei_leaf_lo, index.ei_leaf_hi.get());
                let from = index.ei_block.get();
                self.field("  from file block", &format_args!("{from}: node {leaf}"))?;
                continue;
            }
            let extent = format::Extent::read_from_bytes(entry).expect("as long as its chunk");
            let start = whole(extent.ee_start_lo, extent.ee_start_hi.get());
            let (from, length) = (extent.ee_block.get(), extent.ee_len.get());
            let shown = format_args!("{from}: block {start}, length {length}").to_string();
            self.field("  from file block", &shown)?;
        }
        Ok(())
    }

    pub(super) fn directory(&mut self, region: &Region) -> Result<(), DumpError> {
        for block in region.start_block..region.end() {
            let bytes = self.image.blocks.block(block)?;
            let mut at = 0;
            while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
                let Ok((head, after)) = DirEntryHead::read_from_prefix(rest) else {
                    break;
                };
                let name = after.get(..head.name_len.into()).unwrap_or_default();
                let (inode, length, kind) = (head.inode, head.rec_len, head.file_type);
                let tail = DirEntryTail::read_from_bytes(rest).ok();
                let tail = tail.filter(|_| kind == TAIL_FILE_TYPE);
                let shown = match tail {
                    Some(tail) => format!("checksum {:#010x}", tail.det_checksum.get()),
                    None => format!(
                        "inode {inode} type {kind} \"{}\", {length} bytes",
                        name.escape_ascii()
                    ),
                };
                self.field(&format!("  at {at}"), &shown)?;
                at += usize::from(length.get()).max(4);
            }
        }
        Ok(())
    }

    pub(super) fn journal_head(&mut self, region: &Region) -> Result<(), DumpError> {
        let bytes = self.image.blocks.block(region.start_block)?;
        let Ok((disk, _)) = JournalSuperBlock::read_from_prefix(&bytes) else {
            return Ok(());
        };
        self.field("h_magic", &format_args!("{:#x}", disk.h_magic.get()))?;
        self.numbers(&[
            ("h_blocktype", disk.h_blocktype.get().into()),
            ("s_blocksize", disk.s_blocksize.get().into()),
            ("s_maxlen", disk.s_maxlen.get().into()),
            ("s_first", disk.s_first.get().into()),
            ("s_sequence", disk.s_sequence.get().into()),
            ("s_start", disk.s_start.get().into()),
            ("s_errno", disk.s_errno.get().into()),
            ("s_feature_compat", disk.s_feature_compat.get().into()),
            ("s_feature_incompat", disk.s_feature_incompat.get().into()),
            ("s_nr_users", disk.s_nr_users.get().into()),
        ])?;
        self.text("s_uuid", &disk.s_uuid)
    }
}

/// Returns the fields of a superblock as text, without the numbers that are zero.
fn superblock_fields(disk: &SuperBlock) -> Vec<(&'static str, String)> {
    let compat = Compat::from_bits_retain(disk.s_feature_compat.get());
    let incompat = Incompat::from_bits_retain(disk.s_feature_incompat.get());
    let ro_compat = RoCompat::from_bits_retain(disk.s_feature_ro_compat.get());
    let blocks = whole(disk.s_blocks_count_lo, disk.s_blocks_count_hi.get());
    let free = whole(
        disk.s_free_blocks_count_lo,
        disk.s_free_blocks_count_hi.get(),
    );
    let numbers: [(&'static str, u64); 33] = [
        ("s_inodes_count", disk.s_inodes_count.get().into()),
        ("s_blocks_count", blocks),
        ("s_r_blocks_count_lo", disk.s_r_blocks_count_lo.get().into()),
        ("s_free_blocks_count", free),
        ("s_free_inodes_count", disk.s_free_inodes_count.get().into()),
        ("s_first_data_block", disk.s_first_data_block.get().into()),
        ("s_log_block_size", disk.s_log_block_size.get().into()),
        ("s_log_cluster_size", disk.s_log_cluster_size.get().into()),
        ("s_blocks_per_group", disk.s_blocks_per_group.get().into()),
        (
            "s_clusters_per_group",
            disk.s_clusters_per_group.get().into(),
        ),
        ("s_inodes_per_group", disk.s_inodes_per_group.get().into()),
        ("s_mtime", disk.s_mtime.get().into()),
        ("s_wtime", disk.s_wtime.get().into()),
        ("s_mnt_count", disk.s_mnt_count.get().into()),
        ("s_max_mnt_count", disk.s_max_mnt_count.get().into()),
        ("s_state", disk.s_state.get().into()),
        ("s_errors", disk.s_errors.get().into()),
        ("s_rev_level", disk.s_rev_level.get().into()),
        ("s_first_ino", disk.s_first_ino.get().into()),
        ("s_inode_size", disk.s_inode_size.get().into()),
        ("s_block_group_nr", disk.s_block_group_nr.get().into()),
        (
            "s_reserved_gdt_blocks",
            disk.s_reserved_gdt_blocks.get().into(),
        ),
        ("s_journal_inum", disk.s_journal_inum.get().into()),
        ("s_last_orphan", disk.s_last_orphan.get().into()),
        ("s_def_hash_version", disk.s_def_hash_version.into()),
        ("s_jnl_backup_type", disk.s_jnl_backup_type.into()),
        ("s_desc_size", disk.s_desc_size.get().into()),
        (
            "s_default_mount_opts",
            disk.s_default_mount_opts.get().into(),
        ),
        ("s_min_extra_isize", disk.s_min_extra_isize.get().into()),
        ("s_want_extra_isize", disk.s_want_extra_isize.get().into()),
        ("s_flags", disk.s_flags.get().into()),
        ("s_log_groups_per_flex", disk.s_log_groups_per_flex.into()),
        ("s_checksum_type", disk.s_checksum_type.into()),
    ];
    let numbers = numbers.into_iter().filter(|(_, value)| *value != 0);
    let mut fields: Vec<_> = numbers
        .map(|(name, value)| (name, value.to_string()))
        .collect();
    let text = |bytes: &[u8]| format!("\"{}\"", bytes.escape_ascii());
    fields.extend([
        ("s_magic", format!("{:#x}", disk.s_magic.get())),
        ("s_feature_compat", format!("{compat:?}")),
        ("s_feature_incompat", format!("{incompat:?}")),
        ("s_feature_ro_compat", format!("{ro_compat:?}")),
        ("s_uuid", text(&disk.s_uuid)),
        ("s_hash_seed", text(&disk.s_hash_seed)),
        ("s_jnl_blocks", text(disk.s_jnl_blocks.as_bytes())),
        ("s_checksum", format!("{:#010x}", disk.s_checksum.get())),
    ]);
    if disk.s_volume_name != [0; 16] {
        fields.push(("s_volume_name", text(&disk.s_volume_name)));
    }
    fields
}
