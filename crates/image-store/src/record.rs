//! Records of images, layers and chains of layers.

use std::io;
use std::path::{Path, PathBuf};

use block_tree::Content;
use fs_err as fs;
use oci_image::{Digest, ImageConfig, Platform};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::layout::{self, FORMAT_VERSION, Layout};
use crate::checksum::Checksum;

/// Longest record that is read, in bytes.
const RECORD_MAX_BYTES: u64 = 64 << 20;

/// An image in the store, with the paths of its artifacts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredImage {
    /// Record of the image.
    pub record: ImageRecord,
    /// Merged metadata: an EROFS image whose devices are the layers.
    pub fsmeta: PathBuf,
    /// VMDK descriptor of the disk, which consists of metadata and layers.
    pub vmdk: PathBuf,
    /// EROFS images of the layers, the base layer first.
    pub layers: Vec<PathBuf>,
}

/// Record of an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageRecord {
    /// Version of the store's format, [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Names of the image, in full. They come from the store's names; the record's file has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// Digest of the manifest, which identifies the image.
    pub manifest_digest: Digest,
    /// Digest of the config blob.
    pub config_digest: Digest,
    /// True if the store has the manifest and the config as they came; false in records of older
    /// versions, which did not keep them.
    #[serde(default)]
    pub has_documents: bool,
    /// Platform that the image runs on.
    pub platform: Platform,
    /// Time of creation, as the config states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// Instructions for running the image.
    pub config: ImageConfig,
    /// Key of the list of layers, which names the files of metadata and disk.
    pub chain_key: Digest,
    /// Layers of the image, the base layer first.
    pub layers: Vec<LayerRecord>,
    /// Merged metadata of the layers.
    pub fsmeta: ErofsRecord,
    /// VMDK descriptor of the disk.
    pub vmdk: VmdkRecord,
    /// Length of metadata, descriptor and layers together, in bytes. Other images may share layers.
    pub size_bytes: u64,
}

/// Record of a layer in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "LayerFields", into = "LayerFields")]
pub struct LayerRecord {
    /// Digest of the layer's uncompressed tar stream.
    pub diff_id: Digest,
    /// EROFS image of the layer.
    pub erofs: ErofsRecord,
}

/// The record of a layer in the form of its JSON. `serde(flatten)` would have the same form, but
/// read each field twice.
#[derive(Serialize, Deserialize)]
struct LayerFields {
    diff_id: Digest,
    file: String,
    size_bytes: u64,
    blocks: u32,
    blake3: Checksum,
}

/// Record of an EROFS image in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErofsRecord {
    /// File name in the directory of artifacts.
    pub file: String,
    /// Length of the file, in bytes.
    pub size_bytes: u64,
    /// Length of the file, in blocks of 4 KiB.
    pub blocks: u32,
    /// Checksum of the content.
    pub blake3: Checksum,
}

/// Record of a VMDK descriptor in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmdkRecord {
    /// File name in the directory of artifacts.
    pub file: String,
    /// Length of the file, in bytes.
    pub size_bytes: u64,
    /// Checksum of the content.
    pub blake3: Checksum,
}

/// Record of a layer's outline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutlineRecord {
    /// File name in the directory of artifacts.
    pub file: String,
    /// Length of the file, in bytes.
    pub size_bytes: u64,
    /// Checksum of the file.
    pub blake3: Checksum,
    /// Length of the layer's tar, in bytes.
    pub tar_bytes: u64,
}

/// Record of the packed form of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedRecord {
    /// Length of the packed file, in bytes.
    pub size_bytes: u64,
    /// Checksum of the packed file. That of the content is the layer's.
    pub blake3: Checksum,
}

/// File with the record of a layer, beside the layer's artifact.
#[derive(Debug, Serialize, Deserialize)]
pub struct LayerFile {
    /// Version of the store's format.
    pub format_version: u32,
    /// Record of the layer.
    #[serde(flatten)]
    pub layer: LayerRecord,
    /// Outline of the layer; `None` if an older version, which kept none, stored the layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outline: Option<OutlineRecord>,
    /// Packed form of the layer; `None` if the layer is plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packed: Option<PackedRecord>,
}

/// File with the record of a chain of layers, beside the chain's metadata.
#[derive(Debug, Serialize, Deserialize)]
pub struct ChainFile {
    /// Version of the store's format.
    pub format_version: u32,
    /// Digest of the diff IDs of all layers, in order.
    pub chain_key: Digest,
    /// Diff IDs of the layers, the base layer first.
    pub layers: Vec<Digest>,
    /// Image of the merged metadata.
    pub fsmeta: ErofsRecord,
    /// Record of the VMDK descriptor.
    pub vmdk: VmdkRecord,
}

/// File with a name of an image.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReferenceFile {
    /// Name in its canonical form.
    pub reference: String,
    /// Digest of the manifest that the name resolves to.
    pub manifest_digest: Digest,
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
    /// Returns the file of a plain layer.
    pub fn new(layer: LayerRecord, outline: Option<OutlineRecord>) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            layer,
            outline,
            packed: None,
        }
    }

    /// Returns true if the record is for `diff_id` and in this format version.
    pub fn is_for(&self, diff_id: &Digest) -> bool {
        self.format_version == FORMAT_VERSION
            && self.layer.diff_id == *diff_id
            && self.layer.erofs.file == layout::layer_file(diff_id)
            && self
                .outline
                .as_ref()
                .is_none_or(|outline| outline.file == layout::outline_file(diff_id))
    }
}

impl ErofsRecord {
    /// Returns length and checksum of the content.
    pub fn content(&self) -> Content {
        Content {
            length_bytes: self.size_bytes,
            blake3: self.blake3.to_bytes(),
        }
    }
}

impl ChainFile {
    /// Returns true if the record is for this chain and in this format version.
    pub fn is_for(&self, chain_key: &Digest, layers: &[LayerRecord]) -> bool {
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
    /// Returns the records of the EROFS images that make up the disk: merged metadata, then layers.
    pub fn erofs_images(&self) -> impl Iterator<Item = &ErofsRecord> {
        let layers = self.layers.iter().map(|layer| &layer.erofs);
        std::iter::once(&self.fsmeta).chain(layers)
    }

    /// Returns true if the file names are those that the digests imply; no other files are ever
    /// opened.
    pub fn is_consistent(&self, manifest_digest: &Digest) -> bool {
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
    /// Returns an image with the paths of its artifacts.
    pub fn new(layout: &Layout, record: ImageRecord) -> Self {
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

/// Reads the record of an image; `None` if it does not exist.
pub fn read_image(layout: &Layout, manifest: &Digest) -> io::Result<Option<ImageRecord>> {
    let path = layout.image(manifest);
    let Some(record) = read::<ImageRecord>(&path)? else {
        return Ok(None);
    };
    if !record.is_consistent(manifest) {
        return Err(invalid(&path, "it is not the record of this image"));
    }
    Ok(Some(record))
}

/// Reads a record; `None` if it does not exist.
pub fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() > RECORD_MAX_BYTES => {
            return Err(invalid(path, "it is too long for a record"));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(_) | Err(_) => {}
    }
    match fs::read(path) {
        Ok(bytes) => sealed_records::open(&bytes)
            .map(Some)
            .map_err(|error| invalid(path, error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns an error of kind `InvalidData` with the record's path.
pub fn invalid(path: &Path, why: impl std::fmt::Display) -> io::Error {
    let message = format!("record {} is damaged: {why}", path.display());
    io::Error::new(io::ErrorKind::InvalidData, message)
}
