//! Disks that lie in files: a raw file, or the flat extents of a VMDK.

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

/// Files that make up a disk, one after the other.
#[derive(Debug, Default)]
pub(crate) struct FlatFiles {
    extents: Vec<Extent>,
}

#[derive(Debug)]
struct Extent {
    file: File,
    /// The offsets on the disk of the first byte and of the one after the last.
    start_bytes: u64,
    end_bytes: u64,
    /// The unit in which the file forgets what is discarded, in bytes.
    discard_bytes: u64,
}

/// The space of a range that becomes zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zeroing {
    /// It goes back to the host.
    Free,
    /// It stays allocated.
    Keep,
}

impl FlatFiles {
    /// Adds the first `length_bytes` of a file to the end of the disk.
    ///
    /// # Errors
    /// If the file is shorter, or the disk too long.
    pub(crate) fn push(&mut self, file: File, length_bytes: u64) -> io::Result<()> {
        let found_bytes = length_of_file(&file)?;
        if found_bytes < length_bytes {
            let message = format!("it has {found_bytes} bytes, {length_bytes} are expected");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
        }
        let start_bytes = self.size_bytes();
        let end_bytes = start_bytes.checked_add(length_bytes);
        self.extents.push(Extent {
            discard_bytes: discard_unit(&file),
            file,
            start_bytes,
            end_bytes: end_bytes.ok_or(io::ErrorKind::FileTooLarge)?,
        });
        Ok(())
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.extents.last().map_or(0, |extent| extent.end_bytes)
    }

    /// Fills buffers with the bytes from `at_bytes` on, which lie on the disk.
    pub(crate) fn readv(
        &self,
        mut buffers: &mut [IoSliceMut<'_>],
        mut at_bytes: u64,
    ) -> io::Result<()> {
        IoSliceMut::advance_slices(&mut buffers, 0);
        while !buffers.is_empty() {
            let extent = self.extent(at_bytes)?;
            let offset_bytes = at_bytes - extent.start_bytes;
            let left_bytes = extent.end_bytes - at_bytes;
            let whole = fitting(buffers.iter().map(|buffer| buffer.len()), left_bytes);
            let read = match whole {
                0 => {
                    let first = buffers.first_mut().map(|buffer| &mut **buffer);
                    let left = usize::try_from(left_bytes).ok();
                    let part = first.zip(left);
                    let part = part.and_then(|(first, left)| first.get_mut(..left));
                    let part = part.unwrap_or_default();
                    again(|| extent.file.read_at(part, offset_bytes))?
                }
                whole => {
                    let whole = buffers.get_mut(..whole).unwrap_or_default();
                    again(|| Ok(preadv(&extent.file, whole, offset_bytes)?))?
                }
            };
            at_bytes += progress(read)?;
            IoSliceMut::advance_slices(&mut buffers, read);
        }
        Ok(())
    }

    /// Writes buffers from `at_bytes` on, to a range on the disk.
    pub(crate) fn writev(
        &self,
        mut buffers: &mut [IoSlice<'_>],
        mut at_bytes: u64,
    ) -> io::Result<()> {
        IoSlice::advance_slices(&mut buffers, 0);
        while let Some(first) = buffers.first() {
            let extent = self.extent(at_bytes)?;
            let offset_bytes = at_bytes - extent.start_bytes;
            let left_bytes = extent.end_bytes - at_bytes;
            let whole = fitting(buffers.iter().map(|buffer| buffer.len()), left_bytes);
            let written = match whole {
                0 => {
                    let part = usize::try_from(left_bytes).ok();
                    let part = part.and_then(|left| first.get(..left));
                    let part = part.unwrap_or_default();
                    again(|| extent.file.write_at(part, offset_bytes))?
                }
                whole => {
                    let whole = buffers.get(..whole).unwrap_or_default();
                    again(|| Ok(pwritev(&extent.file, whole, offset_bytes)?))?
                }
            };
            at_bytes += progress(written)?;
            IoSlice::advance_slices(&mut buffers, written);
        }
        Ok(())
    }

    /// Makes a range on the disk read as zeros.
    pub(crate) fn zero(
        &self,
        at_bytes: u64,
        length_bytes: u64,
        zeroing: Zeroing,
    ) -> io::Result<()> {
        self.parts(
            at_bytes,
            length_bytes,
            |extent, offset_bytes, length_bytes| match extent.deallocate(
                offset_bytes,
                length_bytes,
                zeroing,
            ) {
                Err(error) if is_unsupported(&error) => {
                    extent.write_zeros(offset_bytes, length_bytes)
                }
                zeroed => zeroed,
            },
        )
    }

    /// Gives the space of a range's whole blocks back, if the host's filesystem can. Other bytes stay.
    pub(crate) fn discard(&self, at_bytes: u64, length_bytes: u64) -> io::Result<()> {
        self.parts(
            at_bytes,
            length_bytes,
            |extent, offset_bytes, length_bytes| {
                let unit = extent.discard_bytes;
                let end_bytes = (offset_bytes + length_bytes) / unit * unit;
                let start_bytes = offset_bytes.next_multiple_of(unit);
                let whole_bytes = end_bytes.saturating_sub(start_bytes);
                if whole_bytes == 0 {
                    return Ok(());
                }
                match extent.deallocate(start_bytes, whole_bytes, Zeroing::Free) {
                    Err(error) if is_unsupported(&error) => Ok(()),
                    discarded => discarded,
                }
            },
        )
    }

    /// Changes each extent's part of a range.
    fn parts(
        &self,
        mut at_bytes: u64,
        length_bytes: u64,
        change: impl Fn(&Extent, u64, u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let end_bytes = at_bytes.saturating_add(length_bytes);
        while at_bytes < end_bytes {
            let extent = self.extent(at_bytes)?;
            let part_end = end_bytes.min(extent.end_bytes);
            change(extent, at_bytes - extent.start_bytes, part_end - at_bytes)?;
            at_bytes = part_end;
        }
        Ok(())
    }

    /// Makes the content durable. The length of the files stays the same.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.extents
            .iter()
            .try_for_each(|extent| extent.file.sync_data())
    }

    /// Returns the extent of an offset.
    fn extent(&self, at_bytes: u64) -> io::Result<&Extent> {
        let before = |extent: &Extent| extent.end_bytes <= at_bytes;
        let index = self.extents.partition_point(before);
        let beyond = || io::Error::from(io::ErrorKind::UnexpectedEof);
        self.extents.get(index).ok_or_else(beyond)
    }
}

impl Extent {
    fn deallocate(&self, offset_bytes: u64, length_bytes: u64, zeroing: Zeroing) -> io::Result<()> {
        let mode = match zeroing {
            Zeroing::Free => FallocateFlags::PUNCH_HOLE,
            Zeroing::Keep => FallocateFlags::ZERO_RANGE,
        };
        let mode = mode | FallocateFlags::KEEP_SIZE;
        again(|| Ok(fallocate(&self.file, mode, offset_bytes, length_bytes)?))
    }

    fn write_zeros(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        let mut written_bytes = 0;
        while written_bytes < length_bytes {
            let left = usize::try_from(length_bytes - written_bytes).unwrap_or(usize::MAX);
            let zeros = ZEROS.get(..left).unwrap_or(&ZEROS);
            self.file
                .write_all_at(zeros, offset_bytes + written_bytes)?;
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

/// Returns the number of the first buffers that fit together in `left_bytes`.
fn fitting(lengths: impl Iterator<Item = usize>, left_bytes: u64) -> usize {
    let mut sum_bytes: u64 = 0;
    lengths
        .take(BUFFERS_MAX)
        .take_while(|length| {
            let length_bytes = u64::try_from(*length).unwrap_or(u64::MAX);
            sum_bytes = sum_bytes.saturating_add(length_bytes);
            sum_bytes <= left_bytes
        })
        .count()
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
