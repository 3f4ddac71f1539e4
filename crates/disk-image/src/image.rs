use std::io;

use fstree::ReadAt;

use crate::bytes::length_of;
use crate::qcow2::Qcow2;
use crate::tables::SIZE_MAX_BYTES;
use crate::vmdk::SparseVmdk;
use crate::{Format, OpenError, Unsupported};

/// A disk in a file, of which nothing is written. Reads show the disk.
#[derive(Debug)]
pub struct DiskImage<R> {
    content: Content<R>,
    size_bytes: u64,
}

#[derive(Debug)]
enum Content<R> {
    Raw(R),
    Qcow2(Qcow2<R>),
    Vmdk(SparseVmdk<R>),
}

impl<R: ReadAt> DiskImage<R> {
    /// Opens a disk image. The format is that of the file's first bytes if it is not given; who opens a
    /// file that a guest could have written gives it.
    ///
    /// # Errors
    /// A format that is not read or is not the given one, a feature that is not supported, damage in the
    /// header or the first table, a file that cannot be read.
    pub fn open(file: R, format: Option<Format>) -> Result<Self, OpenError> {
        let file_bytes = file.size_bytes()?;
        let format = match format {
            Some(Format::Raw) => Format::Raw,
            Some(wanted) => match crate::format::detect(&file, file_bytes)? {
                found if found == wanted => wanted,
                found => return Err(OpenError::OtherFormat { wanted, found }),
            },
            None => crate::format::detect(&file, file_bytes)?,
        };
        let (content, size_bytes) = match format {
            Format::Raw => (Content::Raw(file), file_bytes),
            Format::Qcow2 => {
                let image = Qcow2::open(file, file_bytes)?;
                let size_bytes = image.size_bytes();
                (Content::Qcow2(image), size_bytes)
            }
            Format::Vmdk => {
                let image = SparseVmdk::open(file, file_bytes)?;
                let size_bytes = image.size_bytes();
                (Content::Vmdk(image), size_bytes)
            }
        };
        check_size(size_bytes)?;
        Ok(Self {
            content,
            size_bytes,
        })
    }

    /// Returns the format.
    pub const fn format(&self) -> Format {
        match &self.content {
            Content::Raw(_) => Format::Raw,
            Content::Qcow2(_) => Format::Qcow2,
            Content::Vmdk(_) => Format::Vmdk,
        }
    }

    /// Returns the size of the disk, in bytes.
    pub const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Reads all tables, and checks that what they name lies in the file. The content is not read.
    ///
    /// # Errors
    /// The first damaged entry, or the error of a file that cannot be read.
    pub fn check(&self) -> Result<(), OpenError> {
        let checked = match &self.content {
            Content::Raw(_) => Ok(()),
            Content::Qcow2(image) => image.check(),
            Content::Vmdk(image) => image.check(),
        };
        checked.map_err(OpenError::of_read)
    }
}

impl<R: ReadAt> ReadAt for DiskImage<R> {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        let end = offset_bytes.checked_add(length_of(buf));
        if end.is_none_or(|end| end > self.size_bytes) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match &self.content {
            Content::Raw(file) => file.read_exact_at(buf, offset_bytes),
            Content::Qcow2(image) => image.read(buf, offset_bytes),
            Content::Vmdk(image) => image.read(buf, offset_bytes),
        }
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.size_bytes)
    }
}

fn check_size(size_bytes: u64) -> Result<(), OpenError> {
    if size_bytes > SIZE_MAX_BYTES {
        let limit_bytes = SIZE_MAX_BYTES;
        return Err(Unsupported::TooLarge {
            size_bytes,
            limit_bytes,
        }
        .into());
    }
    Ok(())
}
