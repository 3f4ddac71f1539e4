//! Disks that are read and written by calls.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};

use crate::registry::AnyDisk;

/// A registered disk.
pub(crate) struct CalledDisk {
    pub(crate) disk: AnyDisk,
}

impl CalledDisk {
    pub(crate) fn new(disk: AnyDisk) -> Self {
        Self { disk }
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

    pub(crate) fn writev(&mut self, buffers: &mut [IoSlice<'_>], at_bytes: u64) -> io::Result<()> {
        match buffers {
            [buffer] => self.disk.write(buffer, at_bytes),
            buffers => self.disk.write_vectored(buffers, at_bytes),
        }
    }
}

impl fmt::Debug for CalledDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size_bytes = self.disk.size_bytes();
        f.debug_struct("CalledDisk")
            .field("size_bytes", &size_bytes)
            .finish_non_exhaustive()
    }
}
