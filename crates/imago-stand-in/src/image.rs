//! A disk of any kind, and the rules that hold for all of them.

use std::io;

use crate::called_disk::CalledDisk;
use crate::file::{Content, File};
use crate::flat_file::{FlatFile, Zeroing, length_of_file};
use crate::io_buffers::{IoVector, IoVectorMut};

/// An open disk.
#[derive(Debug)]
pub(crate) struct Image {
    size_bytes: u64,
    is_writable: bool,
    content: Disk,
}

#[derive(Debug)]
enum Disk {
    File(FlatFile),
    Called(CalledDisk),
}

impl Image {
    /// Returns a raw disk: a file as it is, or a registered disk.
    pub(crate) fn raw(file: File, is_writable: bool) -> io::Result<Self> {
        match file.content {
            Content::Registered(disk) => Ok(Self {
                size_bytes: disk.disk.size_bytes(),
                is_writable,
                content: Disk::Called(disk),
            }),
            Content::File(file) => Ok(Self {
                size_bytes: length_of_file(&file)?,
                is_writable,
                content: Disk::File(FlatFile::new(file)),
            }),
        }
    }

    pub(crate) const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    pub(crate) fn readv(&mut self, mut buffers: IoVectorMut<'_>, at_bytes: u64) -> io::Result<()> {
        self.check(at_bytes, buffers.len())?;
        match &mut self.content {
            Disk::File(file) => file.readv(&mut buffers.0, at_bytes),
            Disk::Called(disk) => disk.readv(&mut buffers.0, at_bytes),
        }
    }

    pub(crate) fn writev(&mut self, mut buffers: IoVector<'_>, at_bytes: u64) -> io::Result<()> {
        self.check_change(at_bytes, buffers.len())?;
        match &mut self.content {
            Disk::File(file) => file.writev(&mut buffers.0, at_bytes),
            Disk::Called(disk) => disk.writev(&mut buffers.0, at_bytes),
        }
    }

    pub(crate) fn zero(
        &mut self,
        at_bytes: u64,
        length_bytes: u64,
        zeroing: Zeroing,
    ) -> io::Result<()> {
        self.check_change(at_bytes, length_bytes)?;
        match &mut self.content {
            Disk::File(file) => file.zero(at_bytes, length_bytes, zeroing),
            Disk::Called(disk) => disk.disk.zero(at_bytes, length_bytes),
        }
    }

    pub(crate) fn discard(&mut self, at_bytes: u64, length_bytes: u64) -> io::Result<()> {
        self.check_change(at_bytes, length_bytes)?;
        match &mut self.content {
            Disk::File(file) => file.discard(at_bytes, length_bytes),
            Disk::Called(disk) => disk.disk.discard(at_bytes, length_bytes),
        }
    }

    pub(crate) fn sync(&mut self) -> io::Result<()> {
        match &mut self.content {
            _ if !self.is_writable => Ok(()),
            Disk::File(file) => file.sync(),
            Disk::Called(disk) => disk.disk.flush(),
        }
    }

    fn check_change(&self, at_bytes: u64, length_bytes: u64) -> io::Result<()> {
        if !self.is_writable {
            let message = "the disk is read-only";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        self.check(at_bytes, length_bytes)
    }

    fn check(&self, at_bytes: u64, length_bytes: u64) -> io::Result<()> {
        let end_bytes = at_bytes.checked_add(length_bytes);
        if end_bytes.is_some_and(|end_bytes| end_bytes <= self.size_bytes) {
            return Ok(());
        }
        let size_bytes = self.size_bytes;
        let message =
            format!("{length_bytes} bytes at {at_bytes} are not on the disk of {size_bytes} bytes");
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, message))
    }
}
