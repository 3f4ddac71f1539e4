use std::collections::BTreeSet;
use std::io::{self, Read};

use image_store::{ImageDocuments, ImageLease, LayerRecord, LayerTar, Store, StoredImage};

use crate::SaveError;

/// An image to save, with the names that it gets in the archive.
pub(crate) struct Selected {
    /// Name that the image was found by, for messages.
    pub(crate) name: String,
    pub(crate) image: StoredImage,
    pub(crate) documents: ImageDocuments,
    /// Keeps the image in the store.
    _lease: ImageLease,
    /// Names with a tag, in docker's short form and in full; a digest is no tag.
    pub(crate) tags: BTreeSet<(String, String)>,
}

/// Finds the images of these names, each image once, in the order of the names.
pub(crate) fn select(store: &Store, names: &[String]) -> Result<Vec<Selected>, SaveError> {
    let mut selected: Vec<Selected> = Vec::new();
    for name in names {
        let (reference, image) = store.find_named(name)?;
        let tag = reference
            .filter(|reference| reference.digest().is_none())
            .map(|reference| (reference.familiar(), reference.canonical().to_string()));
        let known = selected
            .iter_mut()
            .find(|known| known.image.record.manifest_digest == image.record.manifest_digest);
        if let Some(known) = known {
            known.tags.extend(tag);
            continue;
        }
        let documents = store.documents(&image.record);
        let documents = documents.map_err(|source| SaveError::Documents {
            image: name.clone(),
            source,
        })?;
        let selected_image = Selected {
            name: name.clone(),
            _lease: store.lease(&image).map_err(SaveError::Store)?,
            image,
            documents,
            tags: tag.into_iter().collect(),
        };
        // Everything that is missing is found before the first byte is written.
        for layer in &selected_image.image.record.layers {
            let outline = store.outline(layer);
            outline.map_err(|source| selected_image.layer_error(source))?;
        }
        selected.push(selected_image);
    }
    Ok(selected)
}

impl Selected {
    /// Opens the tar of a layer. Returns it with its length in bytes.
    pub(crate) fn open<'a>(
        &self,
        store: &Store,
        layer: &LayerRecord,
        is_cancelled: &'a dyn Fn() -> bool,
    ) -> Result<(u64, Cancellable<'a>), SaveError> {
        let size_bytes = store.outline(layer).map(|outline| outline.tar_bytes);
        let size_bytes = size_bytes.map_err(|source| self.layer_error(source))?;
        let tar = store.layer_tar(layer);
        let tar = tar.map_err(|source| self.layer_error(source))?;
        Ok((size_bytes, Cancellable { tar, is_cancelled }))
    }

    fn layer_error(&self, source: image_store::LayerTarError) -> SaveError {
        SaveError::Layer {
            image: self.name.clone(),
            source,
        }
    }
}

/// A layer's tar whose reading ends when it is cancelled.
pub(crate) struct Cancellable<'a> {
    tar: LayerTar,
    is_cancelled: &'a dyn Fn() -> bool,
}

impl Read for Cancellable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.is_cancelled)() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.tar.read(buffer)
    }
}
