use std::io;
use std::path::Path;

use fstree::ReadAt;

use crate::block::{Run, whole};
use crate::error::{BaseError, Fault};
use crate::file_blocks::{self, FileBlocks, FileBlocksDisk};
use crate::image_part::{self, ImagePart, ImagePartDisk};
use crate::sealed::{Fields, seal, unseal};

/// Bytes outside of the pool that a disk begins with. They are only read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// A part of a disk image is the whole disk.
    ImagePart(ImagePart),
    /// Blocks of files are blocks of the disk; the others are zeros.
    FileBlocks(FileBlocks),
}

impl Base {
    /// Opens the files, and checks that they are those that the base was made of. A relative path begins
    /// in `directory`, that of the pool.
    ///
    /// # Errors
    /// A file that is missing, has changed, or is no such image.
    pub fn open(&self, directory: &Path) -> Result<BaseDisk, BaseError> {
        Ok(match self {
            Self::ImagePart(part) => BaseDisk::ImagePart(part.open()?),
            Self::FileBlocks(blocks) => BaseDisk::FileBlocks(blocks.open(directory)?),
        })
    }

    /// Returns the size of a disk that begins with the base, in bytes.
    pub const fn length_bytes(&self) -> u64 {
        match self {
            Self::ImagePart(part) => part.length_bytes,
            Self::FileBlocks(blocks) => blocks.length_bytes,
        }
    }

    /// Returns the longest runs of blocks of the disk that the base has.
    pub(crate) fn blocks(&self) -> Vec<Run> {
        match self {
            Self::ImagePart(part) => whole(part.length_bytes),
            Self::FileBlocks(blocks) => blocks.disk_blocks(),
        }
    }

    /// Returns the bytes of the file in the pool, with the seal.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        seal(match self {
            Self::ImagePart(part) => part.to_bytes(),
            Self::FileBlocks(blocks) => blocks.to_bytes(),
        })
    }

    /// Reads the bytes of a file in the pool.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Fault> {
        let mut fields = Fields::new(unseal(bytes)?);
        let base = match fields.array()? {
            image_part::MAGIC => Self::ImagePart(ImagePart::read(&mut fields)?),
            file_blocks::MAGIC => Self::FileBlocks(FileBlocks::read(&mut fields)?),
            magic => {
                let value = u64::from_le_bytes(magic);
                let name = "magic";
                return Err(Fault::Field { name, value });
            }
        };
        fields.end()?;
        Ok(base)
    }
}

/// The open files of a base, as the disk that begins with it.
#[derive(Debug)]
pub enum BaseDisk {
    /// A part of a disk image.
    ImagePart(ImagePartDisk),
    /// Blocks of files.
    FileBlocks(FileBlocksDisk),
}

impl ReadAt for BaseDisk {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        match self {
            Self::ImagePart(part) => part.read_exact_at(buf, offset_bytes),
            Self::FileBlocks(blocks) => blocks.read_exact_at(buf, offset_bytes),
        }
    }

    fn size_bytes(&self) -> io::Result<u64> {
        match self {
            Self::ImagePart(part) => part.size_bytes(),
            Self::FileBlocks(blocks) => blocks.size_bytes(),
        }
    }
}
