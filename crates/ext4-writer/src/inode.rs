use fstree::{Device, FileKind, Metadata, Timestamp};
use zerocopy::{IntoBytes as _, U16, U32};

use crate::checksum::crc32c;
use crate::extent::ExtentTree;
use crate::format::{
    BLOCK_SIZE, EXTENTS_FL, EXTRA_ISIZE, INODE_BYTES, Inode, OLD_INODE_BYTES, half_words, halves,
};
use crate::{InvalidInode, WriteError};

/// `EXT4_LINK_MAX`: only directories may have more links, and then count 1 (`dir_nlink`).
const LINK_MAX: u64 = 65_000;
/// Longest target that is stored in the inode, in bytes.
const FAST_SYMLINK_MAX: usize = 59;
/// Longest target of a symlink (`PATH_MAX` without its NUL), in bytes.
const SYMLINK_MAX: usize = 4095;
/// Largest file, in bytes: file blocks have 32-bit numbers, and the number of all ones is reserved.
const FILE_MAX_BYTES: u64 = 0xffff_ffff * BLOCK_SIZE;
/// Last second that a timestamp with two extra bits can hold, since the epoch.
const SECONDS_MAX: i64 = (1 << 34) - (1 << 31) - 1;

/// Input for the encoding of an inode.
#[derive(Debug)]
pub(crate) struct Content<'a> {
    pub(crate) st_mode: u16,
    pub(crate) metadata: &'a Metadata,
    pub(crate) links: u64,
    pub(crate) size_bytes: u64,
    pub(crate) payload: Payload,
    /// Block that holds the xattrs; 0 if there is none.
    pub(crate) xattr_block: u64,
    /// Xattrs that follow the inode's fields.
    pub(crate) xattrs: &'a [u8],
}

/// Content of `i_block`, in one of two forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Payload {
    Extents(ExtentTree),
    Bytes(Vec<u8>),
}

/// Returns the payload of an inode that needs no blocks; `None` if the inode may need blocks.
pub(crate) fn blockless<D>(kind: &FileKind<D>) -> Result<Option<Payload>, InvalidInode> {
    Ok(match kind {
        FileKind::Symlink(target) => match target.len() {
            length_bytes if length_bytes == 0 || length_bytes > SYMLINK_MAX => {
                return Err(InvalidInode::SymlinkTarget { length_bytes });
            }
            length_bytes if length_bytes <= FAST_SYMLINK_MAX => {
                Some(Payload::Bytes(target.to_vec()))
            }
            _ => None,
        },
        FileKind::CharDevice(device) | FileKind::BlockDevice(device) => {
            Some(Payload::Bytes(device_number(*device)))
        }
        FileKind::Fifo | FileKind::Socket => Some(Payload::Bytes(Vec::new())),
        FileKind::Regular(_) | FileKind::Directory(_) => None,
    })
}

/// Encodes a device number, in the old form if that has room for it, as the kernel does
/// (`ext4_mknod`).
fn device_number(device: Device) -> Vec<u8> {
    let Device { major, minor } = device;
    if major < 256 && minor < 256 {
        return ((major << 8) | minor).to_le_bytes().to_vec();
    }
    let new = (minor & 0xff) | ((major & 0xfff) << 8) | ((minor & 0xf_ff00) << 12);
    [0_u32.to_le_bytes(), new.to_le_bytes()].concat()
}

/// Checks that a file of this size can be stored.
pub(crate) const fn check_size(size_bytes: u64) -> Result<(), InvalidInode> {
    if size_bytes > FILE_MAX_BYTES {
        return Err(InvalidInode::Size {
            size_bytes,
            limit_bytes: FILE_MAX_BYTES,
        });
    }
    Ok(())
}

/// Returns the checksum seed of an inode and of its blocks; the generation is always 0.
pub(crate) fn seed(filesystem_seed: u32, number: u32) -> u32 {
    crc32c(crc32c(filesystem_seed, &number.to_le_bytes()), &[0; 4])
}

/// Encodes an inode in 256 bytes, with its checksum.
pub(crate) fn encode(content: &Content<'_>, seed: u32) -> Result<[u8; INODE_BYTES], InvalidInode> {
    let inode = fields(content)?;
    let mut bytes = [0; INODE_BYTES];
    let fields_end = OLD_INODE_BYTES + usize::from(EXTRA_ISIZE);
    bytes[..fields_end].copy_from_slice(inode.as_bytes());
    bytes[fields_end..fields_end + content.xattrs.len()].copy_from_slice(content.xattrs);
    let (low, high) = half_words(crc32c(seed, &bytes));
    bytes[0x7c..0x7e].copy_from_slice(low.as_bytes());
    bytes[0x82..0x84].copy_from_slice(high.as_bytes());
    Ok(bytes)
}

fn fields(content: &Content<'_>) -> Result<Inode, InvalidInode> {
    let metadata = content.metadata;
    let (i_uid, l_i_uid_high) = half_words(metadata.uid);
    let (i_gid, l_i_gid_high) = half_words(metadata.gid);
    let (i_size_lo, i_size_high) = halves(content.size_bytes);
    let (time, extra) = timestamp(metadata.mtime);
    let (i_block, i_flags, data_blocks) = match &content.payload {
        Payload::Extents(tree) => (tree.i_block, EXTENTS_FL, tree.blocks),
        Payload::Bytes(bytes) => (raw(bytes), 0, 0),
    };
    let blocks = data_blocks + u64::from(content.xattr_block != 0);
    let (i_blocks_lo, blocks_high) = halves(blocks * (BLOCK_SIZE / 512));
    let (i_file_acl_lo, acl_high) = halves(content.xattr_block);
    Ok(Inode {
        i_mode: U16::new(content.st_mode),
        i_uid,
        l_i_uid_high,
        i_gid,
        l_i_gid_high,
        i_size_lo,
        i_size_high,
        i_atime: time,
        i_ctime: time,
        i_mtime: time,
        i_crtime: time,
        i_atime_extra: extra,
        i_ctime_extra: extra,
        i_mtime_extra: extra,
        i_crtime_extra: extra,
        i_links_count: U16::new(links(content)?),
        i_blocks_lo,
        l_i_blocks_high: half_words(blocks_high.get()).0,
        i_flags: U32::new(i_flags),
        i_block,
        i_file_acl_lo,
        l_i_file_acl_high: half_words(acl_high.get()).0,
        i_extra_isize: U16::new(EXTRA_ISIZE),
        ..Inode::default()
    })
}

fn links(content: &Content<'_>) -> Result<u16, InvalidInode> {
    let is_directory = content.st_mode & 0o170_000 == 0o040_000;
    match u16::try_from(content.links) {
        Ok(links) if content.links <= LINK_MAX => Ok(links),
        _ if is_directory => Ok(1),
        _ => Err(InvalidInode::Links {
            links: content.links,
        }),
    }
}

fn raw(bytes: &[u8]) -> [[u8; 4]; 15] {
    let mut i_block = [[0; 4]; 15];
    i_block.as_mut_bytes()[..bytes.len()].copy_from_slice(bytes);
    i_block
}

/// Returns the low 32 bits of the seconds, then the nanoseconds above two more bits of the seconds.
/// A time outside of 1901 to 2446 is moved to the nearest end.
fn timestamp(time: Timestamp) -> (zerocopy::U32<zerocopy::LE>, zerocopy::U32<zerocopy::LE>) {
    let seconds = time.seconds.clamp(i64::from(i32::MIN), SECONDS_MAX);
    let (low, _) = halves(seconds.cast_unsigned());
    let epoch = (seconds - i64::from(low.get().cast_signed())) >> 32;
    let epoch = u32::try_from(epoch).expect("0 to 3 after clamping");
    (
        low,
        U32::new((time.nanoseconds.min(999_999_999) << 2) | epoch),
    )
}

impl WriteError {
    /// Returns a function that adds the file's path to a problem.
    pub(crate) fn at(path: &[u8]) -> impl FnOnce(InvalidInode) -> Self + '_ {
        move |problem| Self::Inode {
            path: path.to_vec(),
            problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_reach_from_1901_to_2446() {
        let stored = |seconds, nanoseconds| {
            let (low, extra) = timestamp(Timestamp {
                seconds,
                nanoseconds,
            });
            (low.get(), extra.get())
        };
        assert_eq!(stored(0, 0), (0, 0));
        assert_eq!(stored(-1, 5), (u32::MAX, 5 << 2));
        assert_eq!(stored(1 << 31, 0), (1 << 31, 1));
        assert_eq!(stored(SECONDS_MAX, 0), (0x7fff_ffff, 3));
        assert_eq!(stored(i64::MAX, 0), stored(SECONDS_MAX, 0));
        assert_eq!(stored(i64::MIN, 0), stored(i64::from(i32::MIN), 0));
    }

    #[test]
    fn device_numbers_take_the_form_that_fits() {
        assert_eq!(device_number(Device { major: 1, minor: 3 }), [3, 1, 0, 0]);
        let new = device_number(Device {
            major: 259,
            minor: 70_000,
        });
        assert_eq!(new, [0, 0, 0, 0, 0x70, 0x03, 0x11, 0x11]);
    }
}
