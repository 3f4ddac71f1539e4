#![expect(unsafe_code, reason = "the request of ext4 has no safe form")]

use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open, statvfs};
use rustix::ioctl::{Setter, ioctl, opcode};

use crate::console;

/// `EXT4_IOC_RESIZE_FS` (uapi/linux/ext4.h): how many blocks the filesystem is to have.
const RESIZE_FS: u32 = opcode::write::<u64>(b'f', 16);
/// What `/sys/class/block/*/size` counts in.
const SECTOR_BYTES: u64 = 512;

/// Makes the filesystem of a disk, mounted at `mount`, as large as the disk, which may have grown since
/// the last start. One that cannot grow is as good as it was.
pub(super) fn fill_disk(device: &str, mount: &str) {
    if let Err(error) = resize(device, mount) {
        console::say(&format!("cannot grow the writable disk: {error}"));
    }
}

fn resize(device: &str, mount: &str) -> io::Result<()> {
    let block_bytes = statvfs(mount)?.f_frsize;
    let blocks = disk_bytes(device)? / block_bytes.max(1);
    let directory = open(
        mount,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    // SAFETY: the request takes a pointer to 64 bits, which it only reads; the kernel does nothing
    // where the filesystem has so many blocks already.
    unsafe { ioctl(directory, Setter::<RESIZE_FS, u64>::new(blocks)) }.map_err(Into::into)
}

fn disk_bytes(device: &str) -> io::Result<u64> {
    let name = Path::new(device).file_name().unwrap_or_default();
    let size = fs::read_to_string(Path::new("/sys/class/block").join(name).join("size"))?;
    let sectors: u64 = size.trim_end().parse().map_err(io::Error::other)?;
    Ok(sectors.saturating_mul(SECTOR_BYTES))
}
