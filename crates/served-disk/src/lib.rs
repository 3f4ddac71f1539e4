//! A disk as the calls that a virtual machine's requests become.
//!
//! Whoever keeps a disk implements [`Disk`]; whoever connects it to a machine calls it. Neither knows the other.
//!
//! ```
//! use std::io;
//!
//! use served_disk::Disk;
//!
//! /// A disk in memory.
//! struct Memory(Vec<u8>);
//!
//! impl Disk for Memory {
//!     fn size_bytes(&self) -> u64 {
//!         self.0.len() as u64
//!     }
//!     fn read(&mut self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
//!         let start = offset_bytes as usize;
//!         buf.copy_from_slice(&self.0[start..start + buf.len()]);
//!         Ok(())
//!     }
//!     fn write(&mut self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
//!         let start = offset_bytes as usize;
//!         self.0[start..start + bytes.len()].copy_from_slice(bytes);
//!         Ok(())
//!     }
//!     fn zero(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
//!         self.write(&vec![0; length_bytes as usize], offset_bytes)
//!     }
//!     fn discard(&mut self, _offset_bytes: u64, _length_bytes: u64) -> io::Result<()> {
//!         Ok(())
//!     }
//!     fn flush(&mut self) -> io::Result<()> {
//!         Ok(())
//!     }
//! }
//!
//! # fn main() -> io::Result<()> {
//! let mut disk = Memory(vec![0; 4096]);
//! disk.write(b"bytes", 512)?;
//! let mut read = [0; 5];
//! disk.read(&mut read, 512)?;
//! assert_eq!(&read, b"bytes");
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

use std::io::{self, IoSlice, IoSliceMut};

/// A disk that a machine uses. All ranges that it is called with lie on the disk.
pub trait Disk {
    /// Returns the size of the disk, in bytes. It stays the same while a machine uses the disk.
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
