//! qcow2, which msb gives to no machine.

use std::convert::Infallible;
use std::io;
use std::marker::PhantomData;

use crate::access::AnyFormat;
use crate::image::Image;
use crate::storage::DynStorage;

/// An open qcow2 disk, which does not exist.
#[derive(Debug)]
pub struct Qcow2<S, F> {
    never: Infallible,
    parameters: PhantomData<fn() -> (S, F)>,
}

impl Qcow2<Box<dyn DynStorage>, AnyFormat> {
    /// Refuses the file.
    ///
    /// # Errors
    /// Always: qcow2 is not supported.
    pub fn open_image_sync(_file: Box<dyn DynStorage>, _is_writable: bool) -> io::Result<Self> {
        let message = "qcow2 disks are not supported";
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }

    /// Opens other files that the disk needs.
    ///
    /// # Errors
    /// It is never called.
    pub fn open_implicit_dependencies_sync(&mut self) -> io::Result<()> {
        match self.never {}
    }
}

impl<S, F> From<Qcow2<S, F>> for Image {
    fn from(qcow2: Qcow2<S, F>) -> Self {
        match qcow2.never {}
    }
}
