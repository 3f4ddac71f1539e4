//! Disks that are read and written by calls.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};

use crate::io_buffers::length_of;
use crate::registry::AnyDisk;

/// The most bytes that go through the buffer at once: a guest can name its memory many times over in
/// one request.
const PIECE_BYTES: usize = 1 << 20;

/// A registered disk. What is written from several buffers goes through one of its own, so that it costs the
/// disk one call and not one for every page of the guest.
pub(crate) struct CalledDisk {
    pub(crate) disk: AnyDisk,
    piece: Vec<u8>,
}

impl CalledDisk {
    pub(crate) fn new(disk: AnyDisk) -> Self {
        Self {
            disk,
            piece: Vec::new(),
        }
    }

    pub(crate) fn readv(
        &mut self,
        buffers: &mut [IoSliceMut<'_>],
        at_bytes: u64,
    ) -> io::Result<()> {
        match buffers {
            [buffer] => self.disk.read(buffer, at_bytes),
            buffers => self.disk.read_vectored(buffers, at_bytes),
        }
    }

    pub(crate) fn writev(
        &mut self,
        mut buffers: &mut [IoSlice<'_>],
        mut at_bytes: u64,
    ) -> io::Result<()> {
        if let [buffer] = buffers {
            return self.disk.write(buffer, at_bytes);
        }
        IoSlice::advance_slices(&mut buffers, 0);
        while !buffers.is_empty() {
            let length = buffers.iter().map(|buffer| buffer.len());
            let piece = piece(&mut self.piece, length.sum());
            let mut rest = &mut *piece;
            while let (false, Some(buffer)) = (rest.is_empty(), buffers.first()) {
                let part = buffer.get(..rest.len()).unwrap_or(buffer);
                let (filled, after) = rest.split_at_mut(part.len());
                filled.copy_from_slice(part);
                let length = filled.len();
                rest = after;
                IoSlice::advance_slices(&mut buffers, length);
            }
            self.disk.write(piece, at_bytes)?;
            at_bytes += length_of(piece);
        }
        Ok(())
    }
}

/// Returns a part of the buffer for the next bytes of `length` that are left.
fn piece(buffer: &mut Vec<u8>, length: usize) -> &mut [u8] {
    let length = length.min(PIECE_BYTES);
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
    buffer.get_mut(..length).unwrap_or_default()
}

impl fmt::Debug for CalledDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size_bytes = self.disk.size_bytes();
        f.debug_struct("CalledDisk")
            .field("size_bytes", &size_bytes)
            .finish_non_exhaustive()
    }
}
