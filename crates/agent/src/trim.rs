#![expect(unsafe_code, reason = "the request of filesystems has no safe form")]
//! Space that is free on a disk goes back to the host: holes in the disk's file.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open, statvfs};
use rustix::io::Errno;
use rustix::ioctl::{Updater, ioctl, opcode};

/// `FITRIM` (uapi/linux/fs.h): says of what is free in a range of bytes that nobody needs it.
const FITRIM: u32 = opcode::read_write::<TrimRange>(b'X', 121);
/// `struct fstrim_range` (uapi/linux/fs.h), in bytes.
#[repr(C)]
struct TrimRange {
    start: u64,
    len: u64,
    minlen: u64,
}

/// How much of a disk is looked at between two looks at the clock, in bytes.
const STEP_BYTES: u64 = 1 << 30;
/// Free pieces that are shorter stay, in bytes: a request for each would take longer than it is worth.
const PIECE_MIN_BYTES: u64 = 64 << 10;
/// What an end may take longer for it.
const TIME_LIMIT: Duration = Duration::from_millis(300);

/// Gives back what is free on the disk that is mounted at `mount`, from its start, as far as time allows.
pub(crate) fn give_back(mount: &Path) -> io::Result<()> {
    let space = statvfs(mount)?;
    let size_bytes = space.f_blocks.saturating_mul(space.f_frsize);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = open(mount, flags, Mode::empty())?;
    let deadline = Instant::now() + TIME_LIMIT;
    let mut start = 0;
    while start < size_bytes && Instant::now() < deadline {
        let mut range = TrimRange {
            start,
            len: STEP_BYTES,
            minlen: PIECE_MIN_BYTES,
        };
        // SAFETY: the request takes a pointer to such a structure, which it reads and writes.
        match unsafe { ioctl(&directory, Updater::<FITRIM, TrimRange>::new(&mut range)) } {
            // The disk knows nothing of it, or may only be read.
            Err(Errno::OPNOTSUPP | Errno::ROFS) => return Ok(()),
            done => done?,
        }
        start += STEP_BYTES;
    }
    Ok(())
}
