use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use disk_image::{DiskImage, Format};
use durable_files::open_regular;
use fstree::ReadAt;

use crate::block::length_of;
use crate::error::{BaseError, Fault};
use crate::sealed::{Fields, write_path};

/// The magic of the part of a disk image, with the version of the format.
pub(crate) const MAGIC: [u8; 8] = *b"GENBASE1";

/// A part of a disk image outside of the pool. It is refused when its file has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImagePart {
    /// The absolute path of the disk image.
    pub path: PathBuf,
    /// The format of the disk image. It is never guessed again.
    pub format: Format,
    /// The first byte of the part, on the disk of the image.
    pub start_bytes: u64,
    /// The length of the part, in bytes: the size of a disk that begins with it.
    pub length_bytes: u64,
    /// The state of the file.
    pub stamp: Stamp,
}

/// The properties of a file that change when its content does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The size, in bytes.
    pub size_bytes: u64,
    /// The inode number.
    pub inode: u64,
    /// The time of the last change, in whole seconds since the epoch.
    pub modified_s: i64,
    /// The nanoseconds of that time.
    pub modified_ns: i64,
}

impl From<&Metadata> for Stamp {
    fn from(file: &Metadata) -> Self {
        Self {
            size_bytes: file.len(),
            inode: file.ino(),
            modified_s: file.mtime(),
            modified_ns: file.mtime_nsec(),
        }
    }
}

impl Stamp {
    /// Returns the first difference to the state of the file now, a clause; `None` if there is none.
    fn difference(&self, now: &Self) -> Option<String> {
        if self.size_bytes != now.size_bytes {
            let (before, after) = (self.size_bytes, now.size_bytes);
            return Some(format!("it had {before} bytes and has {after}"));
        }
        if self.inode != now.inode {
            return Some("another file has its name".to_owned());
        }
        (self != now).then(|| "it was written to".to_owned())
    }
}

impl ImagePart {
    /// Opens the disk image, and checks that it is the one that the base was made of.
    pub(crate) fn open(&self) -> Result<ImagePartDisk, BaseError> {
        let io_error = |source| BaseError::Io {
            path: self.path.clone(),
            source,
        };
        let file = open_regular(&self.path).map_err(io_error)?.into_parts().0;
        let now = Stamp::from(&file.metadata().map_err(io_error)?);
        if let Some(change) = self.stamp.difference(&now) {
            return Err(BaseError::Changed {
                path: self.path.clone(),
                change,
            });
        }
        let opened = DiskImage::open(file, Some(self.format));
        let image = opened.map_err(|source| BaseError::Image {
            path: self.path.clone(),
            source,
        })?;
        let end = self.start_bytes.checked_add(self.length_bytes);
        if end.is_none_or(|end| end > image.size_bytes()) {
            return Err(BaseError::Changed {
                path: self.path.clone(),
                change: format!("its disk has {} bytes", image.size_bytes()),
            });
        }
        Ok(ImagePartDisk {
            image,
            start_bytes: self.start_bytes,
            length_bytes: self.length_bytes,
        })
    }

    /// Returns the bytes of the file in the pool, without the seal.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for number in [
            format_number(self.format),
            self.start_bytes,
            self.length_bytes,
            self.stamp.size_bytes,
            self.stamp.inode,
            self.stamp.modified_s.cast_unsigned(),
            self.stamp.modified_ns.cast_unsigned(),
        ] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        write_path(&mut bytes, &self.path);
        bytes
    }

    /// Reads the fields after the magic.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Result<Self, Fault> {
        let format = fields.u64()?;
        let format = Format::ALL
            .into_iter()
            .find(|known| format_number(*known) == format)
            .ok_or(Fault::Field {
                name: "format",
                value: format,
            })?;
        let (start_bytes, length_bytes) = (fields.u64()?, fields.u64()?);
        let stamp = Stamp {
            size_bytes: fields.u64()?,
            inode: fields.u64()?,
            modified_s: fields.u64()?.cast_signed(),
            modified_ns: fields.u64()?.cast_signed(),
        };
        Ok(Self {
            path: fields.path()?,
            format,
            start_bytes,
            length_bytes,
            stamp,
        })
    }
}

const fn format_number(format: Format) -> u64 {
    match format {
        Format::Raw => 0,
        Format::Qcow2 => 1,
        Format::Vmdk => 2,
    }
}

/// The open disk image of a base, of which the base's part is seen.
#[derive(Debug)]
pub struct ImagePartDisk {
    image: DiskImage<File>,
    start_bytes: u64,
    length_bytes: u64,
}

impl ReadAt for ImagePartDisk {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        let end = offset_bytes.checked_add(length_of(buf));
        if end.is_none_or(|end| end > self.length_bytes) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.image
            .read_exact_at(buf, self.start_bytes + offset_bytes)
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.length_bytes)
    }
}
