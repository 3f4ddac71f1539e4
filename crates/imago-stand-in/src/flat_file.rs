//! A disk that is a file, byte for byte.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{Errno, preadv, pwritev};

use crate::io_buffers::length_of;

/// The most buffers of one call of the kernel (`UIO_MAXIOV`, uapi/linux/uio.h).
const BUFFERS_MAX: usize = 1024;

/// The unit in which a disk forgets what is discarded, in bytes, if nothing else is known: a page.
pub(crate) const DISCARD_BYTES: u64 = 4096;

/// Zeros that are written where the host's filesystem cannot make a range zeros by itself.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// The space of a range that becomes zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zeroing {
    /// It goes back to the host.
    Free,
    /// It stays allocated.
    Keep,
}

/// A file that is a disk. The ranges of requests lie on the disk.
#[derive(Debug)]
pub(crate) struct FlatFile {
    file: File,
    /// The unit in which the file forgets what is discarded, in bytes.
    discard_bytes: u64,
}

impl FlatFile {
    pub(crate) fn new(file: File) -> Self {
        Self {
            discard_bytes: discard_unit(&file),
            file,
        }
    }

    /// Fills buffers with the bytes from `at_bytes` on.
    pub(crate) fn readv(
        &self,
        mut buffers: &mut [IoSliceMut<'_>],
        mut at_bytes: u64,
    ) -> io::Result<()> {
        IoSliceMut::advance_slices(&mut buffers, 0);
        while !buffers.is_empty() {
            let count = buffers.len().min(BUFFERS_MAX);
            let first = buffers.get_mut(..count).unwrap_or_default();
            let read = again(|| Ok(preadv(&self.file, first, at_bytes)?))?;
            at_bytes += progress(read)?;
            IoSliceMut::advance_slices(&mut buffers, read);
        }
        Ok(())
    }

    /// Writes buffers from `at_bytes` on.
    pub(crate) fn writev(
        &self,
        mut buffers: &mut [IoSlice<'_>],
        mut at_bytes: u64,
    ) -> io::Result<()> {
        IoSlice::advance_slices(&mut buffers, 0);
        while !buffers.is_empty() {
            let count = buffers.len().min(BUFFERS_MAX);
            let first = buffers.get(..count).unwrap_or_default();
            let written = again(|| Ok(pwritev(&self.file, first, at_bytes)?))?;
            at_bytes += progress(written)?;
            IoSlice::advance_slices(&mut buffers, written);
        }
        Ok(())
    }

    /// Makes a range read as zeros.
    pub(crate) fn zero(
        &self,
        at_bytes: u64,
        length_bytes: u64,
        zeroing: Zeroing,
    ) -> io::Result<()> {
        if length_bytes == 0 {
            return Ok(());
        }
        match self.deallocate(at_bytes, length_bytes, zeroing) {
            Err(error) if is_unsupported(&error) => self.write_zeros(at_bytes, length_bytes),
            zeroed => zeroed,
        }
    }

    /// Gives the space of a range's whole blocks back, if the host's filesystem can. Other bytes stay.
    pub(crate) fn discard(&self, at_bytes: u64, length_bytes: u64) -> io::Result<()> {
        let unit = self.discard_bytes;
        let end_bytes = (at_bytes + length_bytes) / unit * unit;
        let start_bytes = at_bytes.next_multiple_of(unit);
        let whole_bytes = end_bytes.saturating_sub(start_bytes);
        if whole_bytes == 0 {
            return Ok(());
        }
        match self.deallocate(start_bytes, whole_bytes, Zeroing::Free) {
            Err(error) if is_unsupported(&error) => Ok(()),
            discarded => discarded,
        }
    }

    /// Makes the content durable. The length of the file stays the same.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn deallocate(&self, at_bytes: u64, length_bytes: u64, zeroing: Zeroing) -> io::Result<()> {
        let mode = match zeroing {
            Zeroing::Free => FallocateFlags::PUNCH_HOLE,
            Zeroing::Keep => FallocateFlags::ZERO_RANGE,
        };
        let mode = mode | FallocateFlags::KEEP_SIZE;
        again(|| Ok(fallocate(&self.file, mode, at_bytes, length_bytes)?))
    }

    fn write_zeros(&self, at_bytes: u64, length_bytes: u64) -> io::Result<()> {
        let mut written_bytes = 0;
        while written_bytes < length_bytes {
            let left = usize::try_from(length_bytes - written_bytes).unwrap_or(usize::MAX);
            let zeros = ZEROS.get(..left).unwrap_or(&ZEROS);
            self.file.write_all_at(zeros, at_bytes + written_bytes)?;
            written_bytes += length_of(zeros);
        }
        Ok(())
    }
}

/// Returns the unit in which a file forgets what is discarded, in bytes: a block of its filesystem, or a
/// page where that does not say.
pub(crate) fn discard_unit(file: &File) -> u64 {
    let stat = rustix::fs::fstatvfs(file).ok();
    stat.map(|stat| stat.f_frsize)
        .filter(|bytes| bytes.is_power_of_two())
        .unwrap_or(DISCARD_BYTES)
}

/// Returns the length of a file or of a block device, in bytes.
pub(crate) fn length_of_file(mut file: &File) -> io::Result<u64> {
    file.seek(SeekFrom::End(0))
}

/// Returns the number of bytes that a call moved. None means that the file is shorter than it was.
fn progress(moved: usize) -> io::Result<u64> {
    match u64::try_from(moved) {
        Ok(moved) if moved > 0 => Ok(moved),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
}

/// Repeats a call that a signal interrupted.
fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.raw_os_error() == Some(Errno::INTR.raw_os_error()) => {}
            outcome => return outcome,
        }
    }
}
