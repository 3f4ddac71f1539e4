#![expect(unsafe_code, reason = "the request of ext4 has no safe form")]

use std::fs;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open, statvfs};
use rustix::ioctl::{Setter, ioctl, opcode};

use crate::console;

/// `EXT4_IOC_RESIZE_FS` (uapi/linux/ext4.h). Its argument is the new size of the filesystem, in
/// blocks.
const RESIZE_FS: u32 = opcode::write::<u64>(b'f', 16);
/// The unit of `/sys/class/block/*/size`, in bytes.
const SECTOR_BYTES: u64 = 512;

/// Grows the filesystem of a disk, mounted at `mount`, to the disk's size. The disk may have grown
/// since the last start. A failure is reported; the filesystem keeps its size.
pub(super) fn fill_disk(device: &str, mount: &str) {
    if let Err(error) = resize(device, mount) {
        console::log(&format!("cannot grow the writable disk: {error}"));
    }
}

fn resize(device: &str, mount: &str) -> io::Result<()> {
    let block_bytes = statvfs(mount)?.f_frsize;
    let blocks = disk_bytes(device)? / block_bytes.max(1);
    // The ioctl would read the last block before it finds that nothing changes.
    if blocks == filesystem_blocks(device)? {
        return Ok(());
    }
    let directory = open(
        mount,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    // SAFETY: the request takes a pointer to 64 bits, which it only reads.
    unsafe { ioctl(directory, Setter::<RESIZE_FS, u64>::new(blocks)) }.map_err(Into::into)
}

/// Returns the size of the filesystem in blocks, from its superblock. The fields are
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
