use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::layout::{self, FORMAT_VERSION, Layout};
use super::seal;
use crate::checksum::Checksum;
use crate::digest::Digest;
use crate::image::ImageConfig;
use crate::platform::Platform;

/// Longest record that is read, in bytes.
const RECORD_MAX_BYTES: u64 = 64 << 20;

/// An image in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredImage {
    /// What is known of it.
    pub record: ImageRecord,
    /// Its merged metadata: an EROFS image whose devices are the layers.
    pub fsmeta: PathBuf,
    /// The disk that metadata and layers make together.
    pub vmdk: PathBuf,
    /// Its layers, base first: an EROFS image each.
    pub layers: Vec<PathBuf>,
}

/// What the store knows of an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageRecord {
    /// Version of the store's format, [`FORMAT_VERSION`](crate::FORMAT_VERSION).
    pub format_version: u32,
    /// Names of the image, in full. Filled from the store's names; the record's file has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// The image's identity.
    pub manifest_digest: Digest,
    /// Digest of its config blob.
    pub config_digest: Digest,
    /// What it runs on.
    pub platform: Platform,
    /// When it was made, as its config says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// How to run it.
    pub config: ImageConfig,
    /// Stands for the list of layers; names the files of metadata and disk.
    pub chain_key: Digest,
    /// Its layers, base first.
    pub layers: Vec<LayerRecord>,
    /// Its merged metadata.
    pub fsmeta: ErofsRecord,
    /// The descriptor of its disk.
    pub vmdk: VmdkRecord,
    /// Length of metadata, descriptor and layers together, in bytes. Layers may serve other images
    /// too.
    pub size_bytes: u64,
}

/// A layer in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "LayerFields", into = "LayerFields")]
pub struct LayerRecord {
    /// Digest of the layer's tar, uncompressed.
    pub diff_id: Digest,
    /// Its image.
    pub erofs: ErofsRecord,
}

/// A layer's record as JSON has it. `serde(flatten)` would give the same and read each field twice.
#[derive(Serialize, Deserialize)]
struct LayerFields {
    diff_id: Digest,
    file: String,
    size_bytes: u64,
    blocks: u32,
    blake3: Checksum,
}

/// An EROFS image in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErofsRecord {
    /// File name in the store's directory of artifacts.
    pub file: String,
    /// Its length, in bytes.
    pub size_bytes: u64,
    /// Its length, in blocks of 4 KiB.
    pub blocks: u32,
    /// What its content is known by.
    pub blake3: Checksum,
}

/// A VMDK descriptor in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmdkRecord {
    /// File name in the store's directory of artifacts.
    pub file: String,
    /// Its length, in bytes.
    pub size_bytes: u64,
    /// What its content is known by.
    pub blake3: Checksum,
}

/// What the store knows of a layer: the record beside its image.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LayerFile {
    pub(crate) format_version: u32,
    #[serde(flatten)]
    pub(crate) layer: LayerRecord,
}

/// What the store knows of a chain of layers: the record beside its metadata.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ChainFile {
    pub(crate) format_version: u32,
    pub(crate) chain_key: Digest,
    pub(crate) layers: Vec<Digest>,
    pub(crate) fsmeta: ErofsRecord,
    pub(crate) vmdk: VmdkRecord,
}

/// A name of an image.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ReferenceFile {
    pub(crate) reference: String,
    pub(crate) manifest_digest: Digest,
}

impl From<LayerFields> for LayerRecord {
    fn from(fields: LayerFields) -> Self {
        Self {
            diff_id: fields.diff_id,
            erofs: ErofsRecord {
                file: fields.file,
                size_bytes: fields.size_bytes,
                blocks: fields.blocks,
                blake3: fields.blake3,
            },
        }
    }
}

impl From<LayerRecord> for LayerFields {
    fn from(record: LayerRecord) -> Self {
        Self {
            diff_id: record.diff_id,
            file: record.erofs.file,
            size_bytes: record.erofs.size_bytes,
            blocks: record.erofs.blocks,
            blake3: record.erofs.blake3,
        }
    }
}

impl LayerFile {
    pub(crate) fn new(layer: LayerRecord) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            layer,
        }
    }

    /// Whether it says of `diff_id` what this version writes.
    pub(crate) fn is_for(&self, diff_id: &Digest) -> bool {
        self.format_version == FORMAT_VERSION
            && self.layer.diff_id == *diff_id
            && self.layer.erofs.file == layout::layer_file(diff_id)
    }
}

impl ChainFile {
    /// Whether it says of a chain what this version writes.
    pub(crate) fn is_for(&self, chain_key: &Digest, layers: &[LayerRecord]) -> bool {
        self.format_version == FORMAT_VERSION
            && self.chain_key == *chain_key
            && self
                .layers
                .iter()
                .eq(layers.iter().map(|layer| &layer.diff_id))
            && self.fsmeta.file == layout::fsmeta_file(chain_key)
            && self.vmdk.file == layout::vmdk_file(chain_key)
    }
}

impl ImageRecord {
    /// Whether its file names are those that its digests give: nothing else is ever opened.
    pub(crate) fn is_consistent(&self, manifest_digest: &Digest) -> bool {
        self.format_version == FORMAT_VERSION
            && self.manifest_digest == *manifest_digest
            && self.chain_key == layout::chain_key(self.layers.iter().map(|layer| &layer.diff_id))
            && self.fsmeta.file == layout::fsmeta_file(&self.chain_key)
            && self.vmdk.file == layout::vmdk_file(&self.chain_key)
            && self
                .layers
                .iter()
                .all(|layer| layer.erofs.file == layout::layer_file(&layer.diff_id))
    }
}

impl StoredImage {
    pub(crate) fn new(layout: &Layout, record: ImageRecord) -> Self {
        Self {
            fsmeta: layout.artifact(&record.fsmeta.file),
            vmdk: layout.artifact(&record.vmdk.file),
            layers: record
                .layers
                .iter()
                .map(|layer| layout.artifact(&layer.erofs.file))
                .collect(),
            record,
        }
    }
}

/// Reads the record of an image; `None` when there is none.
pub(crate) fn read_image(layout: &Layout, manifest: &Digest) -> io::Result<Option<ImageRecord>> {
    let path = layout.image(manifest);
    let Some(record) = read::<ImageRecord>(&path)? else {
        return Ok(None);
    };
    if !record.is_consistent(manifest) {
        return Err(invalid(&path, "it is not the record of this image"));
    }
    Ok(Some(record))
}

/// Reads a record; `None` when there is none.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() > RECORD_MAX_BYTES => {
            return Err(invalid(path, "it is too long for a record"));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(_) | Err(_) => {}
    }
    match fs::read(path) {
        Ok(bytes) => seal::open(&bytes)
            .map(Some)
            .map_err(|error| invalid(path, error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// An error of kind `InvalidData` that names the record.
pub(crate) fn invalid(path: &Path, why: impl std::fmt::Display) -> io::Error {
    let message = format!("record {} is damaged: {why}", path.display());
    io::Error::new(io::ErrorKind::InvalidData, message)
}
