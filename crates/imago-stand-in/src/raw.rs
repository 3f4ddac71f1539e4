//! Raw disks: a file as it is.

use std::io;
use std::marker::PhantomData;

use crate::image::Image;
use crate::storage::DynStorage;

/// An open raw disk.
#[derive(Debug)]
pub struct Raw<S> {
    image: Image,
    storage: PhantomData<fn() -> S>,
}

impl Raw<Box<dyn DynStorage>> {
    /// Takes an open file, or a registered disk, as a raw disk.
    ///
    /// # Errors
    /// If the length of the file cannot be determined.
    pub fn open_image_sync(file: Box<dyn DynStorage>, is_writable: bool) -> io::Result<Self> {
        Ok(Self {
            image: Image::raw(file.into_file(), is_writable)?,
            storage: PhantomData,
        })
    }
}

impl<S> From<Raw<S>> for Image {
    fn from(raw: Raw<S>) -> Self {
        raw.image
    }
}
