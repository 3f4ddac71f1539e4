use std::io::{self, IoSlice, IoSliceMut};

use crate::disk::Disk;
use crate::storage::Storage;

impl<S: Storage> served_disk::Disk for Disk<S> {
    fn size_bytes(&self) -> u64 {
        self.view.size_bytes
    }

    fn read(&mut self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        Ok(Self::read(self, buf, offset_bytes)?)
    }

    fn read_vectored(
        &mut self,
        buffers: &mut [IoSliceMut<'_>],
        offset_bytes: u64,
    ) -> io::Result<()> {
        Ok(Self::read_vectored(self, buffers, offset_bytes)?)
    }

    fn write(&mut self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        Ok(Self::write(self, bytes, offset_bytes)?)
    }

    fn write_vectored(&mut self, buffers: &mut [IoSlice<'_>], offset_bytes: u64) -> io::Result<()> {
        Ok(Self::write_vectored(self, buffers, offset_bytes)?)
    }

    fn zero(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        Ok(Self::zero(self, offset_bytes, length_bytes)?)
    }

    fn discard(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        Ok(Self::discard(self, offset_bytes, length_bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(Self::flush(self)?)
    }
}
