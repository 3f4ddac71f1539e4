#![expect(unsafe_code, reason = "the requests of filesystems have no safe form")]

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open, statvfs};
use rustix::ioctl::{Setter, Updater, ioctl, opcode};

use crate::console;

/// `EXT4_IOC_RESIZE_FS` (uapi/linux/ext4.h). Its argument is the new size of the filesystem, in
/// blocks.
const EXT4_RESIZE: u32 = opcode::write::<u64>(b'f', 16);
/// `XFS_IOC_FSGEOMETRY_V1` (fs/xfs/libxfs/xfs_fs.h).
const XFS_GEOMETRY: u32 = opcode::read::<XfsGeometry>(b'X', 100);
/// `XFS_IOC_FSGROWFSDATA` (fs/xfs/libxfs/xfs_fs.h).
const XFS_GROW: u32 = opcode::write::<XfsGrowth>(b'X', 110);
/// `BTRFS_IOC_RESIZE` (uapi/linux/btrfs.h).
const BTRFS_RESIZE: u32 = opcode::write::<BtrfsArguments>(0x94, 3);
/// The unit of `/sys/class/block/*/size`, in bytes.
const SECTOR_BYTES: u64 = 512;

/// `struct xfs_fsop_geom_v1`, as far as it is read here.
#[repr(C)]
#[derive(Default)]
struct XfsGeometry {
    blocksize: u32,
    before: [u32; 6],
    imaxpct: u32,
    datablocks: u64,
    after: [u64; 9],
}

/// `struct xfs_growfs_data`.
#[repr(C)]
struct XfsGrowth {
    newblocks: u64,
    imaxpct: u32,
}

/// `struct btrfs_ioctl_vol_args`.
#[repr(C)]
struct BtrfsArguments {
    fd: i64,
    name: [u8; 4088],
}

/// Grows the filesystem of a disk, mounted at `mount`, to the disk's size. The disk may have grown
/// since the last start. A failure is reported; the filesystem keeps its size.
pub(super) fn fill_disk(device: &str, mount: &str, filesystem: &str) {
    let resized = match filesystem {
        "ext4" => resize_ext4(device, mount),
        "xfs" => resize_xfs(device, mount),
        "btrfs" => resize_btrfs(mount),
        _ => Ok(()),
    };
    if let Err(error) = resized {
        console::log(&format!("cannot grow the writable disk: {error}"));
    }
}

fn resize_ext4(device: &str, mount: &str) -> io::Result<()> {
    let block_bytes = statvfs(mount)?.f_frsize;
    let blocks = disk_bytes(device)? / block_bytes.max(1);
    // The ioctl would read the last block before it finds that nothing changes.
    if blocks == filesystem_blocks(device)? {
        return Ok(());
    }
    // SAFETY: the request takes a pointer to 64 bits, which it only reads.
    unsafe { ioctl(root_of(mount)?, Setter::<EXT4_RESIZE, u64>::new(blocks)) }.map_err(Into::into)
}

fn resize_xfs(device: &str, mount: &str) -> io::Result<()> {
    let root = root_of(mount)?;
    let mut geometry = XfsGeometry::default();
    // SAFETY: the request takes a pointer to such a structure, which it fills.
    unsafe {
        ioctl(
            &root,
            Updater::<XFS_GEOMETRY, XfsGeometry>::new(&mut geometry),
        )
    }?;
    let blocks = disk_bytes(device)? / u64::from(geometry.blocksize.max(1));
    if blocks <= geometry.datablocks {
        return Ok(());
    }
    let growth = XfsGrowth {
        newblocks: blocks,
        imaxpct: geometry.imaxpct,
    };
    // SAFETY: the request takes a pointer to such a structure, which it only reads.
    unsafe { ioctl(root, Setter::<XFS_GROW, XfsGrowth>::new(growth)) }.map_err(Into::into)
}

/// Grows a Btrfs, which finds out the size of its device by itself.
fn resize_btrfs(mount: &str) -> io::Result<()> {
    let mut arguments = BtrfsArguments {
        fd: 0,
        name: [0; 4088],
    };
    arguments.name[..3].copy_from_slice(b"max");
    // SAFETY: the request takes a pointer to such a structure, which it only reads.
    unsafe {
        ioctl(
            root_of(mount)?,
            Setter::<BTRFS_RESIZE, BtrfsArguments>::new(arguments),
        )
    }
    .map_err(Into::into)
}

fn root_of(mount: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(open(mount, flags, Mode::empty())?)
}

/// Returns the size of an ext4 in blocks, from its superblock. The fields are
/// `s_blocks_count_lo` and `s_blocks_count_hi` (Documentation/filesystems/ext4/super.rst).
fn filesystem_blocks(device: &str) -> io::Result<u64> {
    const SUPERBLOCK_OFFSET_BYTES: u64 = 1024;
    const LOW_OFFSET_BYTES: u64 = SUPERBLOCK_OFFSET_BYTES + 0x4;
    const HIGH_OFFSET_BYTES: u64 = SUPERBLOCK_OFFSET_BYTES + 0x150;
    let disk = fs::File::open(device)?;
    let half = |offset_bytes| {
        let mut bytes = [0; 4];
        disk.read_exact_at(&mut bytes, offset_bytes)?;
        io::Result::Ok(u64::from(u32::from_le_bytes(bytes)))
    };
    Ok(half(HIGH_OFFSET_BYTES)? << 32 | half(LOW_OFFSET_BYTES)?)
}

fn disk_bytes(device: &str) -> io::Result<u64> {
    let name = Path::new(device).file_name().unwrap_or_default();
    let size = fs::read_to_string(Path::new("/sys/class/block").join(name).join("size"))?;
    let sectors: u64 = size.trim_end().parse().map_err(io::Error::other)?;
    Ok(sectors.saturating_mul(SECTOR_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_kernels_sizes() {
        assert_eq!(size_of::<XfsGeometry>(), 112);
        assert_eq!(size_of::<XfsGrowth>(), 16);
        assert_eq!(size_of::<BtrfsArguments>(), 4096);
        // The numbers as the kernel's macros make them.
        assert_eq!(XFS_GEOMETRY, 0x8070_5864);
        assert_eq!(XFS_GROW, 0x4010_586e);
        assert_eq!(BTRFS_RESIZE, 0x5000_9403);
    }
}
