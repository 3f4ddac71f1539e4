use std::ops::Range;

use fstree::{Device, FileType, Timestamp};
use zerocopy::{FromBytes as _, IntoBytes as _};

use super::layout::Layout;
use super::{Fault, Image, ReadAt, ReadError, Structure, Unsupported};
use crate::checksum::crc32c;
use crate::features::{Incompat, RoCompat};
use crate::format::{
    CASEFOLD_FL, EA_INODE_FL, ENCRYPT_FL, EXTENTS_FL, INLINE_DATA_FL, Inode, OLD_INODE_BYTES,
    VERITY_FL, whole,
};

/// Fields of an inode that was checked.
#[derive(Debug, Clone)]
pub(crate) struct DiskInode {
    pub(crate) number: u32,
    pub(crate) offset_bytes: u64,
    pub(crate) file_type: FileType,
    pub(crate) mode: u16,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mtime: Timestamp,
    pub(crate) size_bytes: u64,
    pub(crate) links: u16,
    /// `i_blocks`, in sectors of 512 bytes; in blocks if `EXT4_HUGE_FILE_FL` is set.
    pub(crate) sectors: u64,
    pub(crate) flags: u32,
    /// `i_block`, whose meaning depends on `file_type` and `flags`.
    pub(crate) block: [u8; 60],
    /// Block that holds the xattrs; 0 if there is none.
    pub(crate) xattr_block: u64,
    /// Xattrs that follow the fields, with their magic number; may be empty.
    pub(crate) xattrs: Vec<u8>,
    /// Checksum seed of the inode and of its blocks.
    pub(crate) seed: u32,
}

impl<R: ReadAt> Image<R> {
    /// Returns the location of an inode, in bytes from the start of the image.
    pub(crate) fn inode_range(&self, number: u32) -> Result<Range<u64>, ReadError> {
        let layout = &self.layout;
        let index = number - 1;
        let group = self.group(index / layout.inodes_per_group())?;
        let inode_size = u64::try_from(layout.inode_bytes).expect("checked");
        let within = u64::from(index % layout.inodes_per_group()) * inode_size;
        let start = group.inode_table * layout.block_size() + within;
        Ok(start..start + inode_size)
    }

    /// Reads an inode that is in use; `number` is from 1 to the number of inodes.
    pub(crate) fn inode(&self, number: u32) -> Result<DiskInode, ReadError> {
        let offset_bytes = self.inode_range(number)?.start;
        let mut bytes = vec![0; self.layout.inode_bytes];
        self.blocks.read(&mut bytes, offset_bytes)?;
        let inode = parse(&self.layout, number, offset_bytes, &bytes)
            .map_err(|fault| Structure::Inode(number).corrupt(offset_bytes, fault))?;
        refuse_flags(&inode)?;
        Ok(inode)
    }
}

impl DiskInode {
    /// Returns true if the target of a symlink is stored in `i_block`.
    pub(crate) fn is_fast_symlink(&self, block_size: u64) -> bool {
        let xattr_sectors = if self.xattr_block == 0 {
            0
        } else {
            block_size / 512
        };
        self.file_type == FileType::Symlink
            && self.flags & (EXTENTS_FL | INLINE_DATA_FL) == 0
            && self.size_bytes < 60
            && self.sectors <= xattr_sectors
    }

    /// Returns true if `i_block` holds an extent tree.
    pub(crate) const fn has_extents(&self) -> bool {
        self.flags & EXTENTS_FL != 0
    }

    /// Returns the device number in `i_block`.
    pub(crate) fn device(&self) -> Device {
        let word = |at: usize| {
            let bytes = self.block[at..].first_chunk().expect("60 bytes");
            u32::from_le_bytes(*bytes)
        };
        match (word(0), word(4)) {
            (0, new) => Device {
                major: (new & 0xf_ff00) >> 8,
                minor: (new & 0xff) | ((new >> 12) & 0xf_ff00),
            },
            (old, _) => Device {
                major: (old >> 8) & 0xff,
                minor: old & 0xff,
            },
        }
    }
}

fn parse(
    layout: &Layout,
    number: u32,
    offset_bytes: u64,
    bytes: &[u8],
) -> Result<DiskInode, Fault> {
    let mut disk = Inode::default();
    let shown = fields_end(bytes)?;
    let taken = shown.min(size_of::<Inode>());
    disk.as_mut_bytes()[..taken].copy_from_slice(&bytes[..taken]);
    let seed = crc32c(layout.seed, &number.to_le_bytes());
    let seed = crc32c(seed, &disk.i_generation.get().to_le_bytes());
    if layout.has_checksums() {
        check_checksum(bytes, shown, seed)?;
    }
    let mode = disk.i_mode.get();
    if disk.i_links_count.get() == 0 {
        return Err(Fault::Deleted);
    }
    let file_type = FileType::from_mode(mode).ok_or(Fault::Mode { mode })?;
    let has_large_size = match file_type {
        FileType::Directory => layout.incompat.contains(Incompat::LARGEDIR),
        _ => true,
    };
    let high = if has_large_size {
        disk.i_size_high.get()
    } else {
        0
    };
    let sectors_high = if layout.ro_compat.contains(RoCompat::HUGE_FILE) {
        disk.l_i_blocks_high.get()
    } else {
        0
    };
    let wide = |low: u16, high: u16| u32::from(low) | u32::from(high) << 16;
    Ok(DiskInode {
        number,
        offset_bytes,
        file_type,
        mode: mode & !FileType::MASK,
        uid: wide(disk.i_uid.get(), disk.l_i_uid_high.get()),
        gid: wide(disk.i_gid.get(), disk.l_i_gid_high.get()),
        mtime: timestamp(disk.i_mtime.get(), disk.i_mtime_extra.get())?,
        size_bytes: whole(disk.i_size_lo, high),
        links: disk.i_links_count.get(),
        sectors: whole(disk.i_blocks_lo, sectors_high),
        flags: disk.i_flags.get(),
        block: disk
            .i_block
            .as_bytes()
            .try_into()
            .expect("fifteen words are 60 bytes"),
        xattr_block: whole(disk.i_file_acl_lo, disk.l_i_file_acl_high.get()),
        xattrs: bytes[shown..].to_vec(),
        seed,
    })
}

/// Returns the offset at which the fields of this inode end, in bytes.
fn fields_end(bytes: &[u8]) -> Result<usize, Fault> {
    let Some(extra) = bytes.get(OLD_INODE_BYTES..OLD_INODE_BYTES + 2) else {
        return Ok(bytes.len());
    };
    let extra = u16::read_from_bytes(extra).map_or(0, u16::from_le);
    let end = OLD_INODE_BYTES + usize::from(extra);
    if end > bytes.len() || extra % 4 != 0 {
        return Err(Fault::Field {
            name: "i_extra_isize",
            value: extra.into(),
        });
    }
    Ok(end)
}

/// Checks the inode's checksum. Its high half exists only if the fields reach that far.
fn check_checksum(bytes: &[u8], fields_end: usize, seed: u32) -> Result<(), Fault> {
    let mut covered = bytes.to_vec();
    let low = [covered[0x7c], covered[0x7d]];
    covered[0x7c..0x7e].fill(0);
    let (mut high, mut mask) = ([0; 2], 0xffff);
    if fields_end >= 0x84 {
        high = [covered[0x82], covered[0x83]];
        covered[0x82..0x84].fill(0);
        mask = u32::MAX;
    }
    let stored = u32::from_le_bytes([low[0], low[1], high[0], high[1]]);
    match crc32c(seed, &covered) & mask {
        computed if computed == stored => Ok(()),
        computed => Err(Fault::Checksum { stored, computed }),
    }
}

/// Decodes a timestamp. Two more bits of the seconds lie below the nanoseconds.
fn timestamp(low: u32, extra: u32) -> Result<Timestamp, Fault> {
    let nanoseconds = extra >> 2;
    if nanoseconds > 999_999_999 {
        return Err(Fault::Field {
            name: "i_mtime_extra",
            value: extra.into(),
        });
    }
    Ok(Timestamp {
        seconds: i64::from(low.cast_signed()) + (i64::from(extra & 3) << 32),
        nanoseconds,
    })
}

fn refuse_flags(inode: &DiskInode) -> Result<(), ReadError> {
    let refused = [
        (ENCRYPT_FL, "encryption"),
        (VERITY_FL, "fs-verity"),
        (CASEFOLD_FL, "case folding"),
        (EA_INODE_FL, "an xattr's inode"),
    ];
    match refused.iter().find(|(flag, _)| inode.flags & flag != 0) {
        None => Ok(()),
        Some((_, what)) => Err(ReadError::Unsupported(Unsupported::InodeFlags {
            inode: inode.number,
            flags: inode.flags,
            what,
        })),
    }
}
