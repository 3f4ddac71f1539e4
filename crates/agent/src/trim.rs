#![expect(unsafe_code, reason = "the request of filesystems has no safe form")]
//! Free space of a disk that goes back to the host, as holes in the disk's file.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open, statvfs};
use rustix::io::Errno;
use rustix::ioctl::{Updater, ioctl, opcode};

/// `FITRIM` (uapi/linux/fs.h), which discards the free blocks in a range of bytes.
const FITRIM: u32 = opcode::read_write::<TrimRange>(b'X', 121);
/// `struct fstrim_range` (uapi/linux/fs.h), in bytes.
#[repr(C)]
struct TrimRange {
    start: u64,
    len: u64,
    minlen: u64,
}

/// The part of a disk that is trimmed between two checks of the time limit, in bytes.
const STEP_BYTES: u64 = 1 << 30;
/// The shortest free piece that is trimmed, in bytes: shorter ones are not worth a request each.
const PIECE_MIN_BYTES: u64 = 64 << 10;
/// The time that trimming may add to a shutdown.
const TIME_TIMEOUT: Duration = Duration::from_millis(300);

/// Gives back the free space of the disk that is mounted at `mount`. Begins at the disk's start and
/// stops at the time limit.
pub(crate) fn give_back(mount: &Path) -> io::Result<()> {
    let space = statvfs(mount)?;
    let size_bytes = space.f_blocks.saturating_mul(space.f_frsize);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = open(mount, flags, Mode::empty())?;
    let deadline = Instant::now() + TIME_TIMEOUT;
    let mut start = 0;
    while start < size_bytes && Instant::now() < deadline {
        let mut range = TrimRange {
            start,
            len: STEP_BYTES,
            minlen: PIECE_MIN_BYTES,
        };
        // SAFETY: the request takes a pointer to such a structure, which it reads and writes.
        match unsafe { ioctl(&directory, Updater::<FITRIM, TrimRange>::new(&mut range)) } {
            // The disk does not support it, or is read-only.
            Err(Errno::OPNOTSUPP | Errno::ROFS) => return Ok(()),
            done => done?,
        }
        start += STEP_BYTES;
    }
    Ok(())
}
