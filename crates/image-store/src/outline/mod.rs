//! Outlines of layers: what gives a layer's tar back, bit for bit, together with the layer's EROFS
//! image.
//!
//! The image holds the content of the tar's files. The outline holds every other byte of the tar
//! (headers, padding, content of entries that the image lacks, what follows the archive's end) and
//! says where the image has the rest. It is written while the tar is read, and knows no tar: it
//! cannot be wrong about one. `docs/formats/outline.md` describes its bytes.

mod read;
mod varint;
mod write;

use std::io;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use oci_image::Digest;

pub use read::LayerTar;
pub use write::{OutlineWriter, Written};

use super::documents::again_hint;
use super::find::REPAIR_HINT;
use super::form;
use super::layout::{self, Layout};
use super::record::{self, LayerFile, LayerRecord, OutlineRecord};
use super::{Checksum, Store};

/// An error while a layer's tar is opened.
#[derive(Debug, thiserror::Error)]
pub enum LayerTarError {
    /// The layer was stored by a version of msb that kept no outlines.
    #[error("the store cannot reproduce the tar of layer {layer}: an older msb stored it")]
    Absent {
        /// Diff ID of the layer.
        layer: Digest,
    },
    /// The outline or its record is not what was written.
    #[error("the store cannot reproduce the tar of layer {layer}: its outline is damaged")]
    Damaged {
        /// Diff ID of the layer.
        layer: Digest,
    },
    /// The store cannot be read.
    #[error("cannot read the store")]
    Io(#[from] io::Error),
}

impl Diagnose for LayerTarError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Absent { .. } => Diagnosis::new(ErrorKind::Unsupported).hint(again_hint(None)),
            Self::Damaged { .. } => Diagnosis::default().hint(REPAIR_HINT),
            Self::Io(source)
                if matches!(
                    source.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::InvalidData
                ) =>
            {
                Diagnosis::default().hint(REPAIR_HINT)
            }
            Self::Io(source) => source.diagnosis(),
        }
    }
}

impl OutlineRecord {
    /// Returns the record of an outline that was written for a layer.
    pub fn new(diff_id: &Digest, written: &Written) -> Self {
        Self {
            file: layout::outline_file(diff_id),
            size_bytes: written.size_bytes,
            blake3: written.blake3,
            tar_bytes: written.tar_bytes,
        }
    }

    /// Returns the record of the outline that lies beside a layer, whose own record was lost;
    /// `None` unless it gives the layer's tar back.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn recover(layout: &Layout, layer: &LayerRecord) -> io::Result<Option<Self>> {
        let file = layout::outline_file(&layer.diff_id);
        let path = layout.artifact(&file);
        if !fs_err::exists(&path)? {
            return Ok(None);
        }
        let image = form::open(layout, &layer.erofs)?;
        let mut tar = LayerTar::open(layout, layer, image, None)?;
        match io::copy(&mut tar, &mut io::sink()) {
            Ok(tar_bytes) => {
                let (blake3, size_bytes) = Checksum::compute_file(&path)?;
                Ok(Some(Self {
                    file,
                    size_bytes,
                    blake3,
                    tar_bytes,
                }))
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Store {
    /// Opens a layer's tar, which is made of its EROFS image and its outline. Reading ends with an
    /// error unless the bytes are those of the diff ID, so nothing of it may be published before
    /// the end.
    ///
    /// # Errors
    /// If an older msb stored the layer, which kept no outline, or if the outline is damaged.
    pub fn layer_tar(&self, layer: &LayerRecord) -> Result<LayerTar, LayerTarError> {
        let outline = self.outline(layer)?;
        let image = form::open(&self.layout, &layer.erofs)?;
        let opened = LayerTar::open(&self.layout, layer, image, Some(outline.tar_bytes));
        opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::InvalidData => LayerTarError::Damaged {
                layer: layer.diff_id,
            },
            _ => LayerTarError::Io(error),
        })
    }

    /// Returns the record of a layer's outline, with the length of the layer's tar.
    ///
    /// # Errors
    /// As [`layer_tar`](Self::layer_tar).
    pub fn outline(&self, layer: &LayerRecord) -> Result<OutlineRecord, LayerTarError> {
        let diff_id = layer.diff_id;
        let path = self.layout.artifact(&layout::record_file(&diff_id));
        let damaged = || LayerTarError::Damaged { layer: diff_id };
        let file = match record::read::<LayerFile>(&path) {
            Ok(file) => file.filter(|file| file.is_for(&diff_id)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => None,
            Err(error) => return Err(error.into()),
        };
        let outline = file.ok_or_else(damaged)?.outline;
        outline.ok_or(LayerTarError::Absent { layer: diff_id })
    }
}
