use std::cell::RefCell;
use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::flat_file::Zeroing;
use crate::image::Image;
use crate::io_buffers::{IoVector, IoVectorMut};
use crate::storage::DynStorage;

/// A disk as libkrun uses it.
#[derive(Debug)]
pub struct SyncFormatAccess<S> {
    /// libkrun reads and writes through a shared reference, and keeps the disk behind a lock.
    image: RefCell<Image>,
    storage: PhantomData<fn() -> S>,
}

/// A name that libkrun gives as a parameter of formats.
#[derive(Debug)]
pub struct FormatAccess<S>(PhantomData<fn() -> S>);

/// The parameter that libkrun gives for the formats of files that a disk names.
pub(crate) type AnyFormat = Arc<FormatAccess<Box<dyn DynStorage>>>;

impl<S> SyncFormatAccess<S> {
    /// Takes an open disk.
    ///
    /// # Errors
    /// None; libkrun expects that there may be.
    #[expect(private_bounds, reason = "the disks of this crate are all there are")]
    pub fn new(disk: impl Into<Image>) -> io::Result<Self> {
        Ok(Self {
            image: RefCell::new(disk.into()),
            storage: PhantomData,
        })
    }

    /// Returns the size of the disk, in bytes.
    pub fn size(&self) -> u64 {
        self.image.borrow().size_bytes()
    }

    /// Fills buffers with the bytes from `at_bytes` on.
    ///
    /// # Errors
    /// If the range does not lie on the disk, or cannot be read.
    pub fn readv(&self, buffers: IoVectorMut<'_>, at_bytes: u64) -> io::Result<()> {
        self.image.borrow_mut().readv(buffers, at_bytes)
    }

    /// Writes buffers from `at_bytes` on.
    ///
    /// # Errors
    /// If the disk is read-only, the range does not lie on it, or cannot be written. Any part of the
    /// bytes may have been written then.
    pub fn writev(&self, buffers: IoVector<'_>, at_bytes: u64) -> io::Result<()> {
        self.image.borrow_mut().writev(buffers, at_bytes)
    }

    /// Makes a range read as zeros, and keeps its space.
    ///
    /// # Errors
    /// Fails as [`Self::writev`] does.
    pub fn write_zeroes(&self, at_bytes: u64, length_bytes: u64) -> io::Result<()> {
        let mut image = self.image.borrow_mut();
        image.zero(at_bytes, length_bytes, Zeroing::Keep)
    }

    /// Makes a range read as zeros, and gives its space back.
    ///
    /// # Errors
    /// Fails as [`Self::writev`] does.
    pub fn discard_to_zero(&mut self, at_bytes: u64, length_bytes: u64) -> io::Result<()> {
        let image = self.image.get_mut();
        image.zero(at_bytes, length_bytes, Zeroing::Free)
    }

    /// Gives the space of a range back, whose content is not needed any more.
    ///
    /// # Errors
    /// Fails as [`Self::writev`] does.
    pub fn discard_to_any(&mut self, at_bytes: u64, length_bytes: u64) -> io::Result<()> {
        self.image.get_mut().discard(at_bytes, length_bytes)
    }

    /// Does nothing: there are no buffers.
    ///
    /// # Errors
    /// None; libkrun expects that there may be.
    pub fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    /// Makes all changes before this call durable.
    ///
    /// # Errors
    /// If a change may not be durable.
    pub fn sync(&self) -> io::Result<()> {
        self.image.borrow_mut().sync()
    }
}
