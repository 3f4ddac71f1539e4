//! The documents of images as they came: manifest and config, each a file that is named by its
//! digest, and a copy. They prove themselves by their names.

use std::io;
use std::path::Path;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use fs_err as fs;
use oci_image::{Descriptor, Digest, Document, ManifestError};

use super::find::REPAIR_HINT;
use super::layout::{self, Layout};
use super::origin::OriginFile;
use super::record::{self, ImageRecord};
use super::session::Session;
use super::{Origin, Store};

/// Longest document that is read, in bytes. The limit `image-document` may admit as long ones.
const DOCUMENT_MAX_BYTES: u64 = 64 << 20;

/// An image's documents, byte for byte as they came, and its layers as they describe them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageDocuments {
    /// Manifest; its SHA-256 is the image's digest. That of an image from a docker archive was made
    /// by msb.
    pub manifest: Vec<u8>,
    /// Media type of the manifest.
    pub manifest_media_type: String,
    /// Config; its SHA-256 is the config's digest in the manifest.
    pub config: Vec<u8>,
    /// Layers, the base layer first.
    pub layers: Vec<LayerDescriptor>,
}

/// A layer's blob as the image's manifest describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerDescriptor {
    /// Digest of the layer's uncompressed tar.
    pub diff_id: Digest,
    /// Digest and length of the blob.
    pub blob: Descriptor,
    /// Media type of the blob.
    pub media_type: String,
    /// Repository that has the blob, such as `docker.io/library/debian`; `None` if the layer was
    /// not pulled.
    pub repository: Option<String>,
}

/// An error while the documents of an image are read.
#[derive(Debug, thiserror::Error)]
pub enum DocumentsError {
    /// The image was stored by a version of msb that kept no documents.
    #[error("the store has neither manifest nor config of image {image}: an older msb stored it")]
    Absent {
        /// Digest of the manifest.
        image: Digest,
        /// Source of the image; `None` if its record cannot be read.
        origin: Option<Origin>,
    },
    /// A document is missing or is not what was written.
    #[error("the {what} of image {image} is damaged in the store")]
    Damaged {
        /// Kind of the document.
        what: &'static str,
        /// Digest of the manifest.
        image: Digest,
        /// Cause, if the document cannot be parsed.
        #[source]
        source: Option<Box<ManifestError>>,
    },
    /// The store cannot be read.
    #[error("cannot read the store")]
    Io(#[from] io::Error),
}

impl Diagnose for DocumentsError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Absent { origin, .. } => {
                Diagnosis::new(ErrorKind::Unsupported).hint(again_hint(origin.as_ref()))
            }
            Self::Damaged { .. } => Diagnosis::default().hint(REPAIR_HINT),
            Self::Io(source) => source.diagnosis(),
        }
    }
}

/// Returns the command that brings an image into the store again.
pub(crate) fn again_hint(origin: Option<&Origin>) -> String {
    match origin {
        Some(Origin::Registry { reference, .. }) => {
            format!("pull it again with msb pull {reference}")
        }
        Some(Origin::Path(path)) => format!("load it again with msb load {}", path.display()),
        _ => "pull it again with msb pull, or load it again with msb load".to_owned(),
    }
}

impl Store {
    /// Returns the documents of an image, and its layers as they describe them.
    ///
    /// # Errors
    /// If an older msb stored the image, which kept no documents, or if both copies of a document
    /// are damaged.
    pub fn documents(&self, image: &ImageRecord) -> Result<ImageDocuments, DocumentsError> {
        let digest = image.manifest_digest;
        let origin = record::read::<OriginFile>(&self.layout.origin(&digest));
        let origin = origin.ok().flatten().filter(|file| file.is_for(&digest));
        if !image.has_documents {
            let origin = origin.map(|file| file.origin);
            return Err(DocumentsError::Absent {
                image: digest,
                origin,
            });
        }
        let read = |what, file: String, expected: &Digest| {
            let bytes = read(&self.layout, &file, expected)?;
            bytes.ok_or(DocumentsError::Damaged {
                what,
                image: digest,
                source: None,
            })
        };
        let raw = read("manifest", layout::manifest_file(&digest), &digest)?;
        let config = layout::config_file(&image.config_digest);
        let config = read("config", config, &image.config_digest)?;
        let damaged = |source| DocumentsError::Damaged {
            what: "manifest",
            image: digest,
            source,
        };
        let parsed = Document::parse(&raw, None).map_err(|error| damaged(Some(Box::new(error))))?;
        let Document::Manifest(manifest) = parsed else {
            return Err(damaged(None));
        };
        if manifest.layers.len() != image.layers.len() {
            return Err(damaged(None));
        }
        let layers = image.layers.iter().zip(&manifest.layers).enumerate();
        let layers = layers.zip(manifest.layer_media_types);
        let layers = layers.map(|((index, (layer, blob)), media_type)| LayerDescriptor {
            diff_id: layer.diff_id,
            blob: *blob,
            media_type,
            repository: origin.as_ref().and_then(|file| file.repository_of(index)),
        });
        Ok(ImageDocuments {
            layers: layers.collect(),
            manifest: raw,
            manifest_media_type: manifest.media_type,
            config,
        })
    }
}

/// Makes the store contain a manifest and a config, each with its copy, durably.
pub fn write(layout: &Layout, session: &Session, manifest: &[u8], config: &[u8]) -> io::Result<()> {
    let manifest_file = layout::manifest_file(&Digest::compute(manifest));
    let config_file = layout::config_file(&Digest::compute(config));
    for (file, bytes) in [(config_file, config), (manifest_file, manifest)] {
        let path = layout.artifact(&file);
        session.replace(&layout.copy(&path), bytes)?;
        session.replace(&path, bytes)?;
    }
    Ok(())
}

/// Returns a document, or its copy if only that is intact; `None` if neither is.
fn read(layout: &Layout, file: &str, expected: &Digest) -> io::Result<Option<Vec<u8>>> {
    let path = layout.artifact(file);
    for path in [&path, &layout.copy(&path)] {
        if let Some(bytes) = read_intact(path, expected)? {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// Returns the bytes of a document; `None` if it does not exist or has another digest.
pub fn read_intact(path: &Path, expected: &Digest) -> io::Result<Option<Vec<u8>>> {
    let bytes = match fs::metadata(path) {
        Ok(metadata) if metadata.len() > DOCUMENT_MAX_BYTES => return Ok(None),
        Ok(_) => fs::read(path),
        Err(error) => Err(error),
    };
    match bytes {
        Ok(bytes) => Ok((Digest::compute(&bytes) == *expected).then_some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
