use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use artifact_file::{ArtifactFile, Opening};
use diagnosis::{Diagnose, Diagnosis};
use erofs_writer::{BLOCK_SIZE_BYTES, Image, ReadAt as _};
use fs_err as fs;
use oci_image::{Reference, excerpt};
use vmdk::{Descriptor, SECTOR_BYTES};

use super::find::REPAIR_HINT;
use super::form::Form;
use super::inventory::boot_files_of;
use super::record::{ErofsRecord, ImageRecord, StoredImage};
use super::session::Session;
use super::stamp::{Group, VerifyMode};
use super::verification::{Damage, Problem};
use super::verify::STORE_LOCK_TIMEOUT;
use super::{Store, layout, tree};
use crate::checksum::Checksum;

/// An error that makes an image unfit to boot: a file of the image is not what was written.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// An artifact cannot be read.
    #[error("cannot read an artifact of the image")]
    Io(#[source] io::Error),
    /// The length of an artifact differs from its record.
    #[error("{} is corrupt: it has {actual_bytes} bytes, expected {expected_bytes}", .path.display())]
    Length {
        /// Path of the artifact.
        path: PathBuf,
        /// Length in the record, in bytes.
        expected_bytes: u64,
        /// Length of the file, in bytes.
        actual_bytes: u64,
    },
    /// The superblock of an artifact is damaged.
    #[error("{} is corrupt", .path.display())]
    Superblock {
        /// Path of the artifact.
        path: PathBuf,
        /// Cause reported by the EROFS reader.
        #[source]
        source: erofs_writer::OpenError,
    },
    /// The VMDK descriptor is not what was written.
    #[error("{} is corrupt: it has checksum {actual}, expected {expected}", .path.display())]
    Descriptor {
        /// Path of the descriptor.
        path: PathBuf,
        /// Checksum in the record.
        expected: Checksum,
        /// Checksum of the file.
        actual: Checksum,
    },
    /// The content of an artifact without a tree is not what was written.
    #[error("{} is corrupt: its checksum is not {expected}", .path.display())]
    Content {
        /// Path of the artifact.
        path: PathBuf,
        /// Checksum in the record.
        expected: Checksum,
    },
    /// The tree of an artifact cannot be read, or is not that of the artifact.
    #[error("{} is corrupt", .path.display())]
    Tree {
        /// Path of the tree.
        path: PathBuf,
        /// Cause reported by the reader of trees.
        #[source]
        source: block_tree::OpenError,
    },
    /// The tree of an artifact does not exist, and cannot be made.
    #[error("cannot make the missing {}", .path.display())]
    MakeTree {
        /// Path of the tree.
        path: PathBuf,
        /// Error of the host.
        #[source]
        source: io::Error,
    },
    /// A tree is to be made, and a removal did not end in time.
    #[error("a removal is running")]
    Busy,
    /// A record cannot be read.
    #[error("cannot read a record of the image")]
    Unreadable(#[source] Problem),
    /// A record of an artifact, the record of the image's origin, or a copy of a record is missing
    /// or differs from the image's record.
    #[error("{} is corrupt: its content has changed", .path.display())]
    Record {
        /// Path of the record.
        path: PathBuf,
    },
    /// The extents of the descriptor differ from the record.
    #[error("{} is corrupt: extent {index} is not '{file}' of {sectors} sectors", .path.display())]
    Extent {
        /// Path of the descriptor.
        path: PathBuf,
        /// Index of the extent, from 0.
        index: usize,
        /// File in the record.
        file: String,
        /// Length in the record, in sectors of 512 bytes.
        sectors: u64,
    },
    /// The devices of the metadata differ from the record.
    #[error("{} is corrupt: device {device} is not '{tag}' of {blocks} blocks", .path.display())]
    Device {
        /// Path of the metadata.
        path: PathBuf,
        /// Number of the device, from 1.
        device: usize,
        /// Tag in the record.
        tag: String,
        /// Length in the record, in blocks.
        blocks: u32,
    },
}

impl Diagnose for CheckError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Io(source)
                if !matches!(
                    source.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::InvalidData
                ) =>
            {
                source.diagnosis()
            }
            Self::Tree {
                source: block_tree::OpenError::Io(source),
                ..
            }
            | Self::MakeTree { source, .. } => source.diagnosis(),
            Self::Unreadable(_) | Self::Busy => Diagnosis::default(),
            Self::Superblock { source, .. } => Diagnosis::of_foreign(source).hint(REPAIR_HINT),
            Self::Io(_)
            | Self::Length { .. }
            | Self::Descriptor { .. }
            | Self::Content { .. }
            | Self::Tree { .. }
            | Self::Record { .. }
            | Self::Extent { .. }
            | Self::Device { .. } => Diagnosis::default().hint(REPAIR_HINT),
        }
    }
}

/// A check of an image that found nothing wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Artifacts whose trees did not exist, because an older msb stored them, and were made.
    pub treeless: Vec<PathBuf>,
}

impl Store {
    /// Checks, before a boot, that an image can be read. Files count as unchanged if the kernel
    /// reports the states in their stamp: this is [`check_with`](Self::check_with) with
    /// [`VerifyMode::Stamp`].
    ///
    /// # Errors
    /// The first file that is not what was written.
    pub fn check(&self, image: &StoredImage) -> Result<Checked, CheckError> {
        self.check_with(image, VerifyMode::Stamp)
    }

    /// Checks, before a boot, that an image can be read: records by their seals, the descriptor by
    /// its digest, artifacts by their length, their superblock and their slot in the device table,
    /// and trees by the checksums of their artifacts. A tree that does not exist is made.
    ///
    /// The content of an artifact is not read, unless its tree is made: each read of the running
    /// machine is verified. With [`VerifyMode::Stamp`] a check takes three `stat` calls per layer, if no
    /// file has changed.
    ///
    /// # Errors
    /// The first file that is not what was written.
    pub fn check_with(
        &self,
        image: &StoredImage,
        trust: VerifyMode,
    ) -> Result<Checked, CheckError> {
        // A missing file is found and reported below.
        let files = self.group(image).ok();
        let stamp = layout::record_file(&image.record.manifest_digest);
        let stamp = self.layout.stamp(&stamp);
        let is_stamped = |files: &Group| files.is_stamped(&stamp);
        if trust == VerifyMode::Stamp && files.as_ref().is_some_and(is_stamped) {
            return Ok(Checked::default());
        }
        check_descriptor(image)?;
        sound(self.damaged_image_records(&image.record))?;
        let checked = self.check_chain(image)?;
        // Files that changed during the check get no stamp.
        if let Some(files) = files.filter(|files| self.group(image).ok().as_ref() == Some(files)) {
            files.put(&stamp);
        }
        Ok(checked)
    }

    /// Checks the metadata, the layers, their trees and their records one by one.
    fn check_chain(&self, image: &StoredImage) -> Result<Checked, CheckError> {
        let record = &image.record;
        let mut checked = Checked::default();
        let fsmeta = self.check_erofs(&record.fsmeta, &mut checked)?;
        for (index, layer) in record.layers.iter().enumerate() {
            self.check_erofs(&layer.erofs, &mut checked)?;
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
        sound(self.damaged_chain_records(record))?;
        Ok(checked)
    }

    /// Returns the state of all files that a check reads, with the record that they must match.
    fn group(&self, image: &StoredImage) -> io::Result<Group> {
        let record = &image.record;
        let (text, artifacts) = (serde_json::to_string(record)?, self.layout.artifacts());
        let mut group = Group::new(&text);
        let files = boot_files_of(record);
        let added = group.add(&artifacts, files.iter().map(String::as_str));
        if added.is_err() {
            // A layer that is not there is packed, or missing.
            group = Group::new(&text);
            let files = self.with_forms(record, files)?;
            group.add(&artifacts, files.iter().map(String::as_str))?;
        }
        let digest = &record.manifest_digest;
        let names = record.references.iter().filter_map(|name| {
            let name = name.parse::<Reference>().ok()?;
            Some(self.layout.reference(&name))
        });
        for path in names.chain([self.layout.image(digest), self.layout.origin(digest)]) {
            for path in [self.layout.copy(&path), path] {
                let (directory, name) = (path.parent(), path.file_name().and_then(OsStr::to_str));
                if let (Some(directory), Some(name)) = (directory, name) {
                    group.add(directory, [name].into_iter())?;
                }
            }
        }
        Ok(group)
    }

    /// Returns the files that a boot needs, with packed forms in the place of plain ones that do not exist.
    fn with_forms(
        &self,
        record: &ImageRecord,
        mut files: BTreeSet<String>,
    ) -> io::Result<BTreeSet<String>> {
        for layer in &record.layers {
            if Form::find(&self.layout, &layer.erofs)? == Some(Form::Packed) {
                files.remove(&layer.erofs.file);
                files.insert(Form::Packed.file(&layer.erofs));
            }
        }
        Ok(files)
    }

    fn check_erofs(
        &self,
        record: &ErofsRecord,
        checked: &mut Checked,
    ) -> Result<Image<ArtifactFile>, CheckError> {
        let path = self.layout.artifact(&record.file);
        let image = check_superblock(&path, record)?;
        let opened = tree::open(&self.layout, record).map_err(|source| CheckError::Tree {
            path: tree::path(&path),
            source,
        })?;
        if opened.is_none() {
            self.make_tree(record, &path)?;
            checked.treeless.push(path);
        }
        Ok(image)
    }

    /// Makes the tree of the artifact at `path`, which has none.
    fn make_tree(&self, record: &ErofsRecord, path: &Path) -> Result<(), CheckError> {
        let failed = |source| CheckError::MakeTree {
            path: tree::path(path),
            source,
        };
        let session = Session::begin_within(&self.layout, STORE_LOCK_TIMEOUT).map_err(failed)?;
        let session = session.ok_or(CheckError::Busy)?;
        if tree::make(&self.layout, &session, record).map_err(failed)? {
            return Ok(());
        }
        Err(CheckError::Content {
            path: path.to_owned(),
            expected: record.blake3,
        })
    }
}

/// Returns the last damage as an error.
fn sound(mut damages: Vec<Damage>) -> Result<(), CheckError> {
    match damages.pop() {
        None => Ok(()),
        Some(Damage {
            problem: problem @ Problem::Unreadable(_),
            ..
        }) => Err(CheckError::Unreadable(problem)),
        Some(Damage { path, .. }) => Err(CheckError::Record { path }),
    }
}

fn check_superblock(path: &Path, record: &ErofsRecord) -> Result<Image<ArtifactFile>, CheckError> {
    let opened = Opening::new(path, record.content()).open();
    let file = opened.map_err(|error| CheckError::Io(error.into()))?;
    let actual_bytes = file.size_bytes().map_err(CheckError::Io)?;
    let expected_bytes = u64::from(record.blocks) * BLOCK_SIZE_BYTES;
    if actual_bytes != expected_bytes || actual_bytes != record.size_bytes {
        return Err(CheckError::Length {
            path: path.to_owned(),
            expected_bytes,
            actual_bytes,
        });
    }
    Image::open(file).map_err(|source| CheckError::Superblock {
        path: path.to_owned(),
        source,
    })
}

fn check_descriptor(image: &StoredImage) -> Result<(), CheckError> {
    let (path, record) = (&image.vmdk, &image.record);
    let text = fs::read(path).map_err(CheckError::Io)?;
    let (actual, expected) = (Checksum::compute(&text), record.vmdk.blake3);
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
