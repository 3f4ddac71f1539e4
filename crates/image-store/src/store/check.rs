use std::io;
use std::path::{Path, PathBuf};

use erofs_writer::{BLOCK_SIZE_BYTES, Image};
use fs_err as fs;
use vmdk::{Descriptor, SECTOR_BYTES};

use super::Store;
use super::record::{ErofsRecord, StoredImage};
use crate::digest::Digest;
use crate::text::excerpt;

/// Why an image must not be booted: something of it is not what was written.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// An artifact cannot be read.
    #[error("cannot read an artifact of the image")]
    Io(#[source] io::Error),
    /// An artifact is longer or shorter than its record says.
    #[error("{} is corrupt: it has {actual_bytes} bytes, expected {expected_bytes}", .path.display())]
    Length {
        /// Which file.
        path: PathBuf,
        /// What the record says.
        expected_bytes: u64,
        /// What it has.
        actual_bytes: u64,
    },
    /// An artifact's superblock is damaged.
    #[error("{} is corrupt", .path.display())]
    Superblock {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: erofs_writer::OpenError,
    },
    /// The descriptor of the disk is not the one that was written.
    #[error("{} is corrupt: it has digest {actual}, expected {expected}", .path.display())]
    Descriptor {
        /// Which file.
        path: PathBuf,
        /// What the record says.
        expected: Digest,
        /// What it has.
        actual: Digest,
    },
    /// The descriptor and the record do not name the same extents.
    #[error("{} is corrupt: extent {index} is not '{file}' of {sectors} sectors", .path.display())]
    Extent {
        /// Which descriptor.
        path: PathBuf,
        /// Which extent, from 0.
        index: usize,
        /// The file that the record names.
        file: String,
        /// How long the record says it is, in sectors of 512 bytes.
        sectors: u64,
    },
    /// Metadata and record do not name the same devices.
    #[error("{} is corrupt: device {device} is not '{tag}' of {blocks} blocks", .path.display())]
    Device {
        /// Which metadata.
        path: PathBuf,
        /// Which device, from 1.
        device: usize,
        /// The tag that the record gives.
        tag: String,
        /// How long the record says it is, in blocks.
        blocks: u32,
    },
}

impl CheckError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io(error) if error.kind() != io::ErrorKind::NotFound => None,
            _ => Some("pull or load the image again: what is damaged is made anew".to_owned()),
        }
    }
}

impl Store {
    /// Checks, before a boot, that every file of the image is there, as long as its line in the
    /// descriptor and its slot in the device table say, and begins with an intact superblock.
    /// Neither kernel nor VMM does, and reads garbage silently. Takes time by the layer, not by
    /// the byte.
    ///
    /// # Errors
    /// The first thing that is not as it was written.
    pub fn check(&self, image: &StoredImage) -> Result<(), CheckError> {
        let record = &image.record;
        let fsmeta = check_erofs(&image.fsmeta, &record.fsmeta)?;
        for (index, layer) in record.layers.iter().enumerate() {
            check_erofs(&self.layout.artifact(&layer.erofs.file), &layer.erofs)?;
            let (tag, blocks) = (layer.diff_id.hex(), layer.erofs.blocks);
            let slot = fsmeta.devices().get(index);
            if slot.is_none_or(|slot| slot.tag != tag || slot.blocks != blocks) {
                let path = image.fsmeta.clone();
                return Err(CheckError::Device {
                    path,
                    device: index + 1,
                    tag,
                    blocks,
                });
            }
        }
        check_descriptor(image)
    }
}

fn check_erofs(path: &Path, record: &ErofsRecord) -> Result<Image<std::fs::File>, CheckError> {
    let file = fs::File::open(path).map_err(CheckError::Io)?;
    let actual_bytes = file.metadata().map_err(CheckError::Io)?.len();
    let expected_bytes = u64::from(record.blocks) * BLOCK_SIZE_BYTES;
    if actual_bytes != expected_bytes || actual_bytes != record.size_bytes {
        return Err(CheckError::Length {
            path: path.to_owned(),
            expected_bytes,
            actual_bytes,
        });
    }
    Image::open(file.into_parts().0).map_err(|source| CheckError::Superblock {
        path: path.to_owned(),
        source,
    })
}

fn check_descriptor(image: &StoredImage) -> Result<(), CheckError> {
    let (path, record) = (&image.vmdk, &image.record);
    let text = fs::read(path).map_err(CheckError::Io)?;
    let (actual, expected) = (Digest::of(&text), record.vmdk.sha256);
    let parsed = std::str::from_utf8(&text)
        .ok()
        .and_then(|text| Descriptor::parse(text).ok());
    let Some(descriptor) = parsed.filter(|_| actual == expected) else {
        return Err(CheckError::Descriptor {
            path: path.clone(),
            expected,
            actual,
        });
    };
    let files =
        std::iter::once(&record.fsmeta).chain(record.layers.iter().map(|layer| &layer.erofs));
    let mut extents = descriptor.extents.iter();
    for (index, file) in files.enumerate() {
        let sectors = file.size_bytes / SECTOR_BYTES;
        let extent = extents.next();
        if extent.is_none_or(|extent| extent.file_name != file.file || extent.sectors != sectors) {
            let file = excerpt(&file.file);
            return Err(CheckError::Extent {
                path: path.clone(),
                index,
                file,
                sectors,
            });
        }
    }
    Ok(())
}
