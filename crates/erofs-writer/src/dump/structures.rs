use fstree::{Device, FileType};
use zerocopy::FromBytes;
use zerocopy::little_endian::U16;

use super::DumpError;
use super::page::Page;
use crate::format::{
    CHUNK_FORMAT_BLKBITS_MASK, Compat, DEVICE_SLOT_BYTES, DeviceSlotDisk, Incompat, InodeCompact,
    InodeExtended, NULL_ADDRESS, SuperBlock,
};
use crate::inode::{Form, Layout, device_from_number};
use crate::read::ReadAt;

fn layout(format: u16) -> Layout {
    Layout::from_code(format >> 1 & 7)
}

impl<R: ReadAt> Page<'_, '_, R> {
    pub(super) fn superblock(&mut self, bytes: &[u8]) -> Result<(), DumpError> {
        let Ok((raw, _)) = SuperBlock::read_from_prefix(bytes) else {
            return self.unused("unknown", bytes);
        };
        let compat = Compat::from_bits_retain(raw.feature_compat.get());
        let incompat = Incompat::from_bits_retain(raw.feature_incompat.get());
        self.field("magic", &format_args!("{:#010x}", raw.magic))?;
        self.field("checksum", &format_args!("{:#010x}", raw.checksum))?;
        self.field(
            "feature_compat",
            &format_args!("{:#x} {compat:?}", raw.feature_compat),
        )?;
        self.field("blkszbits", &raw.blkszbits)?;
        self.field("sb_extslots", &raw.sb_extslots)?;
        self.field("root_nid", &raw.root_nid)?;
        self.field("inos", &raw.inos)?;
        self.field("build_time", &raw.build_time)?;
        self.field("build_time_nsec", &raw.build_time_nsec)?;
        self.field("blocks", &raw.blocks)?;
        self.field("meta_blkaddr", &raw.meta_blkaddr)?;
        self.field("xattr_blkaddr", &raw.xattr_blkaddr)?;
        let uuid = u128::from_be_bytes(raw.uuid);
        self.field("uuid", &format_args!("{uuid:032x}"))?;
        self.text("volume_name", &raw.volume_name)?;
        self.field(
            "feature_incompat",
            &format_args!("{:#x} {incompat:?}", raw.feature_incompat),
        )?;
        self.field("available_compr_algs", &raw.available_compr_algs)?;
        self.field("extra_devices", &raw.extra_devices)?;
        self.field("devt_slotoff", &raw.devt_slotoff)?;
        self.field("dirblkbits", &raw.dirblkbits)?;
        self.field("xattr_prefix_count", &raw.xattr_prefix_count)?;
        self.field("xattr_prefix_start", &raw.xattr_prefix_start)?;
        self.field("packed_nid", &raw.packed_nid)?;
        self.field("xattr_filter_reserved", &raw.xattr_filter_reserved)?;
        self.unused("reserved", &raw.reserved)
    }

    pub(super) fn device_table(&mut self, bytes: &[u8]) -> Result<(), DumpError> {
        for (number, slot) in (1..).zip(bytes.chunks(DEVICE_SLOT_BYTES)) {
            let Ok(raw) = DeviceSlotDisk::read_from_bytes(slot) else {
                return self.unused("unknown", slot);
            };
            let number: u32 = number;
            self.field("device", &number)?;
            self.text("  tag", &raw.tag)?;
            self.field("  blocks", &raw.blocks)?;
            self.field("  mapped_blkaddr", &raw.mapped_blkaddr)?;
            self.unused("  reserved", &raw.reserved)?;
        }
        Ok(())
    }

    pub(super) fn inode(&mut self, bytes: &[u8]) -> Result<(), DumpError> {
        let format = U16::read_from_prefix(bytes).map_or(0, |(format, _)| format.get());
        let layout = layout(format);
        match Form::from_format(format) {
            Some(Form::Compact) => {
                self.field("i_format", &format_args!("{format:#x} Compact {layout:?}"))?;
                self.compact(bytes)
            }
            _ => {
                self.field("i_format", &format_args!("{format:#x} Extended {layout:?}"))?;
                self.extended(bytes)
            }
        }
    }

    fn mode(&mut self, mode: u16) -> Result<(), DumpError> {
        let letter = FileType::from_mode(mode).map_or('?', FileType::letter);
        self.field("i_mode", &format_args!("{mode:#o} {letter}"))
    }

    /// Writes `i_u`, whose meaning follows from layout and type.
    fn union(&mut self, format: u16, mode: u16, value: u32) -> Result<(), DumpError> {
        let file_type = FileType::from_mode(mode);
        let Device { major, minor } = device_from_number(value);
        match (layout(format), file_type) {
            (Layout::ChunkBased, _) => {
                let bits = value & u32::from(CHUNK_FORMAT_BLKBITS_MASK);
                self.field("i_u", &format_args!("{value:#x} chunks of 2^{bits} blocks"))
            }
            (_, Some(FileType::CharDevice | FileType::BlockDevice)) => {
                self.field("i_u", &format_args!("{value:#x} device {major}:{minor}"))
            }
            (_, Some(FileType::Fifo | FileType::Socket)) => self.field("i_u", &value),
            _ if value == NULL_ADDRESS => self.field("i_u", &"no block"),
            _ => self.field("i_u", &format_args!("block {value}")),
        }
    }

    fn compact(&mut self, bytes: &[u8]) -> Result<(), DumpError> {
        let Ok((raw, _)) = InodeCompact::read_from_prefix(bytes) else {
            return self.unused("unknown", bytes);
        };
        self.field("i_xattr_icount", &raw.i_xattr_icount)?;
        self.mode(raw.i_mode.get())?;
        self.field("i_nlink", &raw.i_nlink)?;
        self.field("i_size", &raw.i_size)?;
        self.field("i_mtime", &raw.i_mtime)?;
        self.union(raw.i_format.get(), raw.i_mode.get(), raw.i_u.get())?;
        self.field("i_ino", &raw.i_ino)?;
        self.field("i_uid", &raw.i_uid)?;
        self.field("i_gid", &raw.i_gid)?;
        self.field("i_reserved", &raw.i_reserved)
    }

    fn extended(&mut self, bytes: &[u8]) -> Result<(), DumpError> {
        let Ok((raw, _)) = InodeExtended::read_from_prefix(bytes) else {
            return self.unused("unknown", bytes);
        };
        self.field("i_xattr_icount", &raw.i_xattr_icount)?;
        self.mode(raw.i_mode.get())?;
        self.field("i_reserved", &raw.i_reserved)?;
        self.field("i_size", &raw.i_size)?;
        self.union(raw.i_format.get(), raw.i_mode.get(), raw.i_u.get())?;
        self.field("i_ino", &raw.i_ino)?;
        self.field("i_uid", &raw.i_uid)?;
        self.field("i_gid", &raw.i_gid)?;
        self.field("i_mtime", &raw.i_mtime.get().cast_signed())?;
        self.field("i_mtime_nsec", &raw.i_mtime_nsec)?;
        self.field("i_nlink", &raw.i_nlink)?;
        self.unused("i_reserved2", &raw.i_reserved2)
    }
}
