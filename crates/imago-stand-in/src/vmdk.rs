//! VMDK, which msb gives to no machine: it serves such a disk itself.

use std::convert::Infallible;
use std::io;
use std::marker::PhantomData;

use crate::access::AnyFormat;
use crate::image::Image;
use crate::storage::DynStorage;

/// An open VMDK, which does not exist.
#[derive(Debug)]
pub struct Vmdk<S, F> {
    never: Infallible,
    parameters: PhantomData<fn() -> (S, F)>,
}

/// A VMDK that is going to be refused.
#[derive(Debug)]
pub struct VmdkOpenBuilder<S, F>(PhantomData<fn() -> (S, F)>);

/// The right to open the files that a descriptor names.
#[derive(Debug, Clone, Copy, Default)]
pub struct PermissiveImplicitOpenGate {}

/// The last step of opening a disk.
pub trait FormatDriverBuilder {
    /// The open disk.
    type Format;

    /// Opens the disk.
    ///
    /// # Errors
    /// Always: VMDK is not supported.
    fn open_sync(self, gate: PermissiveImplicitOpenGate) -> io::Result<Self::Format>;
}

impl Vmdk<Box<dyn DynStorage>, AnyFormat> {
    /// Begins to open the VMDK whose descriptor is in a file.
    pub fn builder(_file: Box<dyn DynStorage>) -> VmdkOpenBuilder<Box<dyn DynStorage>, AnyFormat> {
        VmdkOpenBuilder(PhantomData)
    }
}

impl<S, F> FormatDriverBuilder for VmdkOpenBuilder<S, F> {
    type Format = Vmdk<S, F>;

    fn open_sync(self, _gate: PermissiveImplicitOpenGate) -> io::Result<Vmdk<S, F>> {
        let message = "VMDK disks are not supported";
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }
}

impl<S, F> From<Vmdk<S, F>> for Image {
    fn from(vmdk: Vmdk<S, F>) -> Self {
        match vmdk.never {}
    }
}
