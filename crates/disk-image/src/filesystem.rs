use std::fmt;
use std::io;
use std::str::FromStr;

use fstree::ReadAt;
use serde::{Deserialize, Serialize};

use crate::bytes::{read_array, u16_le, u32_le, u64_le};
use crate::format::NoSuchName;

/// A filesystem that can be a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filesystem {
    /// ext4, and ext2 and ext3, which the same driver mounts.
    Ext4,
    /// XFS.
    Xfs,
    /// Btrfs on one device.
    Btrfs,
    /// EROFS, which is read-only.
    Erofs,
}

impl Filesystem {
    /// All filesystems.
    pub const ALL: [Self; 4] = [Self::Ext4, Self::Xfs, Self::Btrfs, Self::Erofs];

    /// Returns the name that Linux has for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::Erofs => "erofs",
        }
    }
}

impl fmt::Display for Filesystem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Filesystem {
    type Err = NoSuchName;

    fn from_str(text: &str) -> Result<Self, NoSuchName> {
        let found = Self::ALL.into_iter().find(|each| each.name() == text);
        found.ok_or(NoSuchName {
            expected: "ext4, xfs, btrfs or erofs",
        })
    }
}

/// The filesystem of a range of bytes cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The disk cannot be read.
    #[error("cannot read the filesystem's superblock")]
    Io(#[from] io::Error),
    /// There is a filesystem, or something else, that cannot be a root.
    #[error(transparent)]
    Unusable(#[from] UnusableFilesystem),
}

/// Content that is known and cannot be mounted as a root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found}")]
pub struct UnusableFilesystem {
    /// The content, as a clause such as `it is encrypted (LUKS)`.
    pub found: String,
    /// The filesystem, if it is one that could be a root in another state.
    pub filesystem: Option<Filesystem>,
}

/// Content that is no root, by the bytes at an offset, and the clause that says so.
type Other = (u64, &'static [u8], &'static str);

/// Containers of other content. They are looked for first: a superblock may be left of what was there before.
const CONTAINERS: [Other; 7] = [
    (0, b"LUKS\xba\xbe", "it is encrypted (LUKS)"),
    (3, b"-FVE-FS-", "it is encrypted (BitLocker)"),
    (512, b"LABELONE", "it is a volume of LVM"),
    (0, b"LABELONE", "it is a volume of LVM"),
    (4096, b"\xfc\x4e\x2b\xa9", "it is a member of a RAID"),
    (0, b"\xfc\x4e\x2b\xa9", "it is a member of a RAID"),
    (
        4096 + 24,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca",
        "it is bcachefs",
    ),
];

/// Other content. It is looked for last: `mke2fs` leaves the signature of swap space where it is.
const OTHERS: [Other; 8] = [
    (4086, b"SWAPSPACE2", "it is swap space"),
    (3, b"NTFS    ", "it is NTFS"),
    (3, b"EXFAT   ", "it is exFAT"),
    (0, b"hsqs", "it is SquashFS"),
    (1024, b"\x10\x20\xf5\xf2", "it is F2FS"),
    (32769, b"CD001", "it is ISO 9660"),
    (82, b"FAT32   ", "it is FAT"),
    (54, b"FAT", "it is FAT"),
];

/// Returns the filesystem of a disk, or of a part of it, by its superblock. `None` if no superblock is known.
///
/// # Errors
/// Content that is known and cannot be a root, also because of its state, such as a journal to be
/// replayed; or bytes that cannot be read.
pub fn probe(part: &impl ReadAt) -> Result<Option<Filesystem>, ProbeError> {
    let length_bytes = part.size_bytes()?;
    refuse(&CONTAINERS, part, length_bytes)?;
    if has(part, length_bytes, 0, b"XFSB")? {
        return Ok(Some(Filesystem::Xfs));
    }
    // EROFS_SUPER_MAGIC_V1 at EROFS_SUPER_OFFSET (fs/erofs/erofs_fs.h).
    if has(part, length_bytes, 1024, &0xe0f5_e1e2_u32.to_le_bytes())? {
        return Ok(Some(Filesystem::Erofs));
    }
    if let Some(superblock) = read_array(part, length_bytes, 1024)?
        && is_ext4(&superblock)
    {
        check_ext4(&superblock)?;
        return Ok(Some(Filesystem::Ext4));
    }
    // BTRFS_SUPER_INFO_OFFSET (fs/btrfs/fs.h).
    if let Some(superblock) = read_array(part, length_bytes, 64 << 10)?
        && superblock_has(&superblock, 0x40, b"_BHRfS_M")
    {
        check_btrfs(&superblock)?;
        return Ok(Some(Filesystem::Btrfs));
    }
    refuse(&OTHERS, part, length_bytes)?;
    Ok(None)
}

/// Refuses content that is no root.
fn refuse(others: &[Other], part: &impl ReadAt, length_bytes: u64) -> Result<(), ProbeError> {
    for (offset_bytes, magic, found) in others {
        if has(part, length_bytes, *offset_bytes, magic)? {
            return Err(unusable(*found, None));
        }
    }
    Ok(())
}

fn has(part: &impl ReadAt, length_bytes: u64, offset_bytes: u64, magic: &[u8]) -> io::Result<bool> {
    let found: Option<[u8; 16]> = read_array(part, length_bytes, offset_bytes)?;
    Ok(found.is_some_and(|found| found.starts_with(magic)))
}

fn superblock_has(superblock: &[u8], at: usize, magic: &[u8]) -> bool {
    superblock
        .get(at..)
        .is_some_and(|rest| rest.starts_with(magic))
}

/// `s_magic` of `struct ext4_super_block` (fs/ext4/ext4.h).
fn is_ext4(superblock: &[u8; 256]) -> bool {
    u16_le(superblock, 0x38) == 0xef53
}

/// Checks the features of an ext4 that make it none to mount alone. A journal to be replayed is that of a
/// disk that was not unmounted: most likely a machine runs on it now, and what is read would change.
fn check_ext4(superblock: &[u8; 256]) -> Result<(), ProbeError> {
    /// `EXT4_FEATURE_INCOMPAT_RECOVER`.
    const RECOVER: u32 = 0x4;
    /// `EXT4_FEATURE_INCOMPAT_JOURNAL_DEV`.
    const JOURNAL_DEVICE: u32 = 0x8;
    /// `EXT4_FEATURE_COMPAT_HAS_JOURNAL`.
    const HAS_JOURNAL: u32 = 0x4;
    let compatible = u32_le(superblock, 0x5c);
    let incompatible = u32_le(superblock, 0x60);
    let journal_inode = u32_le(superblock, 0xe0);
    let state = Some(Filesystem::Ext4);
    if incompatible & JOURNAL_DEVICE != 0 {
        return Err(unusable(
            "it is the journal of an ext4 on another disk",
            None,
        ));
    }
    if compatible & HAS_JOURNAL != 0 && journal_inode == 0 {
        return Err(unusable(
            "it is an ext4 whose journal is on another disk",
            None,
        ));
    }
    if incompatible & RECOVER != 0 {
        return Err(unusable(dirty("an ext4"), state));
    }
    Ok(())
}

/// Checks the state of a btrfs, by `log_root` and `num_devices` of `struct btrfs_super_block`
/// (uapi/linux/btrfs_tree.h).
fn check_btrfs(superblock: &[u8; 256]) -> Result<(), ProbeError> {
    let devices = u64_le(superblock, 0x88);
    if devices > 1 {
        let found = format!("it is one of the {devices} devices of a btrfs");
        return Err(unusable(found, None));
    }
    if u64_le(superblock, 0x60) != 0 {
        return Err(unusable(dirty("a btrfs"), Some(Filesystem::Btrfs)));
    }
    Ok(())
}

fn dirty(filesystem: &str) -> String {
    format!(
        "it is {filesystem} with a journal to be replayed: it was not unmounted, or a machine runs on it"
    )
}

fn unusable(found: impl Into<String>, filesystem: Option<Filesystem>) -> ProbeError {
    ProbeError::Unusable(UnusableFilesystem {
        found: found.into(),
        filesystem,
    })
}
