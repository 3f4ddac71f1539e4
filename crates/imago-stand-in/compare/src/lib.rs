//! The same calls, as libkrun makes them, to two crates that have the same names.

use std::io::{IoSlice, IoSliceMut, Result};
use std::path::Path;

/// A disk of either crate.
pub trait Disk {
    /// Fills a buffer, which is passed on in pieces of `piece_bytes`.
    fn read(&self, buf: &mut [u8], piece_bytes: usize, at_bytes: u64) -> Result<()>;
    /// Writes bytes, which are passed on in pieces of `piece_bytes`.
    fn write(&self, bytes: &[u8], piece_bytes: usize, at_bytes: u64) -> Result<()>;
    /// Makes a range zeros.
    fn write_zeroes(&self, at_bytes: u64, length_bytes: u64) -> Result<()>;
    /// Makes a range zeros, and gives its space back.
    fn discard_to_zero(&mut self, at_bytes: u64, length_bytes: u64) -> Result<()>;
    /// Gives the space of a range back.
    fn discard_to_any(&mut self, at_bytes: u64, length_bytes: u64) -> Result<()>;
    /// Makes all durable.
    fn flush(&self) -> Result<()>;
}

macro_rules! disks {
    ($module:ident, $crate_name:ident) => {
        /// The disks of one crate.
        pub mod $module {
            #[allow(
                unused_imports,
                reason = "one of the crates has more than libkrun uses"
            )]
            use $crate_name::Storage as _;
            use $crate_name::file::File;
            use $crate_name::io_buffers::{IoVector, IoVectorMut};
            use $crate_name::raw::Raw;
            use $crate_name::{DynStorage, StorageOpenOptions, SyncFormatAccess};

            use super::*;

            /// An open disk.
            pub struct Opened(SyncFormatAccess<Box<dyn DynStorage>>);

            fn file(path: &Path, is_writable: bool) -> Result<Box<dyn DynStorage>> {
                let options = StorageOpenOptions::new().write(is_writable).filename(path);
                Ok(Box::new(File::open_sync(options.direct(false))?))
            }

            /// Opens a raw disk.
            ///
            /// # Errors
            /// If the crate refuses it.
            pub fn raw(path: &Path) -> Result<Opened> {
                let raw = Raw::<Box<dyn DynStorage>>::open_image_sync(file(path, true)?, true)?;
                Ok(Opened(SyncFormatAccess::new(raw)?))
            }

            impl Disk for Opened {
                fn read(&self, buf: &mut [u8], piece_bytes: usize, at_bytes: u64) -> Result<()> {
                    let pieces: Vec<_> = buf.chunks_mut(piece_bytes).map(IoSliceMut::new).collect();
                    self.0.readv(IoVectorMut::from(pieces), at_bytes)
                }

                fn write(&self, bytes: &[u8], piece_bytes: usize, at_bytes: u64) -> Result<()> {
                    let pieces: Vec<_> = bytes.chunks(piece_bytes).map(IoSlice::new).collect();
                    self.0.writev(IoVector::from(pieces), at_bytes)
                }

                fn write_zeroes(&self, at_bytes: u64, length_bytes: u64) -> Result<()> {
                    self.0.write_zeroes(at_bytes, length_bytes)
                }

                fn discard_to_zero(&mut self, at_bytes: u64, length_bytes: u64) -> Result<()> {
                    self.0.discard_to_zero(at_bytes, length_bytes)
                }

                fn discard_to_any(&mut self, at_bytes: u64, length_bytes: u64) -> Result<()> {
                    self.0.discard_to_any(at_bytes, length_bytes)
                }

                fn flush(&self) -> Result<()> {
                    self.0.flush()?;
                    self.0.sync()
                }
            }
        }
    };
}

disks!(imago, published);
disks!(ours, stand_in);
