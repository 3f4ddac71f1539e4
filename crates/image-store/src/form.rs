//! The forms of an artifact in the store: plain or packed.

use std::collections::BTreeMap;
use std::io;

use artifact_file::{ArtifactFile, Opening};
use fs_err as fs;

use super::layout::{self, Layout};
use super::record::{ErofsRecord, ImageRecord, LayerRecord, StoredImage};

/// The form in which the store has a layer, as its files say. Merged metadata is always plain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// An EROFS image, which other programs read too.
    Plain,
    /// Compressed frames.
    Packed,
}

impl Form {
    /// Returns the form of an artifact; `None` if it has neither. If a crash has left both, it is plain.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn find(layout: &Layout, erofs: &ErofsRecord) -> io::Result<Option<Self>> {
        for form in [Self::Plain, Self::Packed] {
            if fs::exists(layout.artifact(&form.file(erofs)))? {
                return Ok(Some(form));
            }
        }
        Ok(None)
    }

    /// Returns the file name of an artifact in this form.
    pub fn file(self, erofs: &ErofsRecord) -> String {
        match self {
            Self::Plain => erofs.file.clone(),
            Self::Packed => layout::packed_file(&erofs.file),
        }
    }
}

/// Returns the layers of an image, each once.
pub(crate) fn distinct(image: &ImageRecord) -> impl Iterator<Item = &LayerRecord> {
    let layers = image.layers.iter().map(|layer| (layer.diff_id, layer));
    layers.collect::<BTreeMap<_, _>>().into_values()
}

/// Returns the space of all files of a layer's image, in bytes: of a cache file what it has allocated.
pub(crate) fn disk_bytes(layout: &Layout, erofs: &ErofsRecord) -> io::Result<u64> {
    let mut bytes = 0;
    for file in [
        erofs.file.clone(),
        layout::packed_file(&erofs.file),
        layout::cache_file(&erofs.file),
    ] {
        bytes += match fs::metadata(layout.artifact(&file)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            metadata if layout::is_cache_file(&file) => durable_files::allocated_bytes(&metadata?),
            metadata => metadata?.len(),
        };
    }
    Ok(bytes)
}

/// Opens an artifact of the store, whatever form it has. Its reader compares the content.
///
/// # Errors
/// If it has neither form, or the packed one is not that of the record.
pub fn open(layout: &Layout, erofs: &ErofsRecord) -> io::Result<ArtifactFile> {
    let path = layout.artifact(&erofs.file);
    Ok(Opening::new(&path, erofs.content()).open()?)
}

impl StoredImage {
    /// Opens the merged metadata, and the layers, whatever form they have. Reads of a plain form are not verified.
    ///
    /// # Errors
    /// If one of them cannot be opened.
    pub fn open(&self) -> io::Result<(ArtifactFile, Vec<ArtifactFile>)> {
        let fsmeta = Opening::new(&self.fsmeta, self.record.fsmeta.content()).open()?;
        let mut layers = Vec::new();
        for (path, layer) in self.layers.iter().zip(&self.record.layers) {
            layers.push(Opening::new(path, layer.erofs.content()).open()?);
        }
        Ok((fsmeta, layers))
    }
}
