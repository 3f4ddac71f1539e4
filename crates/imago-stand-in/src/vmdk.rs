//! VMDK descriptors over flat extents, which are only read.

use std::fs;
use std::io;
use std::marker::PhantomData;
use std::path::Path;

use ::vmdk::{Descriptor, SECTOR_BYTES};

use crate::access::AnyFormat;
use crate::file::{Content, File};
use crate::flat_files::FlatFiles;
use crate::image::Image;
use crate::storage::DynStorage;

/// An open VMDK.
#[derive(Debug)]
pub struct Vmdk<S, F> {
    image: Image,
    parameters: PhantomData<fn() -> (S, F)>,
}

/// A VMDK that is going to be opened.
#[derive(Debug)]
pub struct VmdkOpenBuilder<S, F> {
    descriptor: File,
    parameters: PhantomData<fn() -> (S, F)>,
}

/// The right to open the files that a descriptor names: all of them. The jail of libkrun's threads
/// allows those of its own disks and no others.
#[derive(Debug, Clone, Copy, Default)]
pub struct PermissiveImplicitOpenGate {}

/// The last step of opening a disk.
pub trait FormatDriverBuilder {
    /// The open disk.
    type Format;

    /// Opens the disk.
    ///
    /// # Errors
    /// If a file of it cannot be opened, or is not as it should be.
    fn open_sync(self, gate: PermissiveImplicitOpenGate) -> io::Result<Self::Format>;
}

impl Vmdk<Box<dyn DynStorage>, AnyFormat> {
    /// Begins to open the VMDK whose descriptor is in `file`.
    pub fn builder(file: Box<dyn DynStorage>) -> VmdkOpenBuilder<Box<dyn DynStorage>, AnyFormat> {
        VmdkOpenBuilder {
            descriptor: file.into_file(),
            parameters: PhantomData,
        }
    }
}

impl<S, F> FormatDriverBuilder for VmdkOpenBuilder<S, F> {
    type Format = Vmdk<S, F>;

    fn open_sync(self, _gate: PermissiveImplicitOpenGate) -> io::Result<Vmdk<S, F>> {
        let File { path, content } = self.descriptor;
        let Content::File(file) = content else {
            let message = "a registered disk has no descriptor";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        };
        let descriptor = Descriptor::read(&file).map_err(io::Error::other)?;
        let directory = path.parent().unwrap_or(Path::new(""));
        let mut files = FlatFiles::default();
        for extent in &descriptor.extents {
            let path = directory.join(&extent.file_name);
            let length_bytes = extent.sectors.saturating_mul(SECTOR_BYTES);
            let opened = fs::File::open(&path);
            let pushed = opened.and_then(|file| files.push(file, length_bytes));
            pushed.map_err(|error| {
                let path = path.display();
                io::Error::new(error.kind(), format!("the extent {path}: {error}"))
            })?;
        }
        let is_writable = false;
        Ok(Vmdk {
            image: Image::files(files, is_writable),
            parameters: PhantomData,
        })
    }
}

impl<S, F> From<Vmdk<S, F>> for Image {
    fn from(vmdk: Vmdk<S, F>) -> Self {
        vmdk.image
    }
}
