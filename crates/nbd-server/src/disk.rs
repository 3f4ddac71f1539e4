use std::io::{self, IoSlice, IoSliceMut};

/// The disk behind a server. All ranges that a server asks for lie on the disk.
///
/// An error is reported to the client by its kind: `StorageFull`, `QuotaExceeded` and `FileTooLarge` as
/// no space, `OutOfMemory` as no memory, `PermissionDenied` and `ReadOnlyFilesystem` as not permitted,
/// all others as an I/O error.
pub trait Disk {
    /// Returns the size of the disk, in bytes. It stays the same while the disk is served.
    fn size_bytes(&self) -> u64;

    /// Fills `buf` with the bytes from `offset_bytes` on.
    ///
    /// # Errors
    /// If they cannot be read.
    fn read(&mut self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()>;

    /// Fills buffers, one after the other, with the bytes from `offset_bytes` on. A disk that can do so in one
    /// call should.
    ///
    /// # Errors
    /// If they cannot be read.
    fn read_vectored(
        &mut self,
        buffers: &mut [IoSliceMut<'_>],
        mut offset_bytes: u64,
    ) -> io::Result<()> {
        for buffer in buffers {
            self.read(buffer, offset_bytes)?;
            offset_bytes += u64::try_from(buffer.len()).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Writes bytes from `offset_bytes` on.
    ///
    /// # Errors
    /// If they cannot be written; any part may have been.
    fn write(&mut self, bytes: &[u8], offset_bytes: u64) -> io::Result<()>;

    /// Writes buffers, one after the other, from `offset_bytes` on. A disk that can do so in one call should.
    ///
    /// # Errors
    /// Fails as [`Disk::write`] does.
    fn write_vectored(
        &mut self,
        buffers: &mut [IoSlice<'_>],
        mut offset_bytes: u64,
    ) -> io::Result<()> {
        for buffer in buffers {
            self.write(buffer, offset_bytes)?;
            offset_bytes += u64::try_from(buffer.len()).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Makes a range read as zeros; the disk need not keep space for it.
    ///
    /// # Errors
    /// If that fails; any part of the range may be zeros.
    fn zero(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()>;

    /// Tells that the content of a range is not needed any more.
    ///
    /// # Errors
    /// If that fails.
    fn discard(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()>;

    /// Makes all changes before this call durable.
    ///
    /// # Errors
    /// If a change may not be durable.
    fn flush(&mut self) -> io::Result<()>;
}
