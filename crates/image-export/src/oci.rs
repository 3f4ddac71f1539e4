use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use image_store::Store;
use oci_image::{Descriptor, Digest, make_manifest, media_type};
use serde_json::{Value, json};

use crate::blob::{CompressError, LayerCompression, compress};
use crate::output::Output;
use crate::selection::Selected;
use crate::{SaveError, SaveOptions};

/// Annotation with the full name, of containerd and BuildKit.
const CONTAINERD_NAME: &str = "io.containerd.image.name";
/// The specification's annotation, with the tag.
const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// Writer of the blobs of an OCI layout.
struct Layout<'a> {
    store: &'a Store,
    compression: LayerCompression,
    /// Directory for compressed layers.
    spool: PathBuf,
    output: &'a mut dyn Output,
    is_cancelled: &'a dyn Fn() -> bool,
    /// Blobs of the layers that were written, by diff ID.
    layers: BTreeMap<Digest, Descriptor>,
    /// Digests of all blobs that were written.
    blobs: BTreeSet<Digest>,
}

/// Adds the files of an OCI layout: the blobs, each once, and the index.
pub(crate) fn write(
    store: &Store,
    images: &[Selected],
    options: &SaveOptions,
    output: &mut dyn Output,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<(), SaveError> {
    output.add_bytes("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    let mut layout = Layout {
        store,
        compression: options.compression,
        spool: store.layout.temporary(),
        output,
        is_cancelled,
        layers: BTreeMap::new(),
        blobs: BTreeSet::new(),
    };
    let mut entries = Vec::new();
    for selected in images {
        let entry = layout.image(selected)?;
        entries.extend(named(&entry, selected));
    }
    let index = json!({
        "schemaVersion": 2,
        "mediaType": media_type::OCI_INDEX,
        "manifests": entries,
    });
    layout
        .output
        .add_bytes("index.json", index.to_string().as_bytes())
}

impl Layout<'_> {
    /// Writes the blobs of an image. Returns the descriptor of its manifest.
    fn image(&mut self, selected: &Selected) -> Result<Value, SaveError> {
        let documents = &selected.documents;
        let mut layers = Vec::new();
        for index in 0..documents.layers.len() {
            layers.push(self.layer(selected, index)?);
        }
        let config = Descriptor {
            digest: selected.image.record.config_digest,
            size_bytes: length(&documents.config),
        };
        self.document(config.digest, &documents.config)?;
        let is_unchanged = documents
            .layers
            .iter()
            .map(|layer| layer.blob)
            .eq(layers.iter().copied());
        let media_type = self.compression.media_type();
        let (media_type, manifest) = if is_unchanged {
            let raw = documents.manifest.clone();
            (documents.manifest_media_type.as_str(), raw)
        } else {
            let layers = layers.iter().map(|blob| (media_type, *blob));
            (media_type::OCI_MANIFEST, make_manifest(&config, layers))
        };
        let digest = Digest::compute(&manifest);
        self.document(digest, &manifest)?;
        let platform = &selected.image.record.platform;
        let mut shown = json!({"os": platform.os, "architecture": platform.architecture});
        if let Some(variant) = &platform.variant {
            shown["variant"] = json!(variant);
        }
        Ok(json!({
            "mediaType": media_type,
            "digest": digest.to_string(),
            "size": manifest.len(),
            "platform": shown,
        }))
    }

    /// Writes a layer's blob, unless it was written. Returns its descriptor.
    fn layer(&mut self, selected: &Selected, index: usize) -> Result<Descriptor, SaveError> {
        let Some(layer) = selected.image.record.layers.get(index) else {
            let error = std::io::Error::other("a layer is missing");
            return Err(SaveError::Store(error));
        };
        if let Some(known) = self.layers.get(&layer.diff_id) {
            return Ok(*known);
        }
        let (size_bytes, mut tar) = selected.open(self.store, layer, self.is_cancelled)?;
        let descriptor = if self.compression == LayerCompression::None {
            let digest = layer.diff_id;
            if self.blobs.insert(digest) {
                self.output.add(&blob_name(&digest), size_bytes, &mut tar)?;
            }
            Descriptor { digest, size_bytes }
        } else {
            let compressed = compress(&mut tar, self.compression, &self.spool);
            let mut blob = compressed.map_err(|error| of_compression(layer.diff_id, error))?;
            let Descriptor { digest, size_bytes } = blob.descriptor;
            if self.blobs.insert(digest) {
                self.output
                    .add(&blob_name(&digest), size_bytes, &mut blob.file)?;
            }
            blob.descriptor
        };
        self.layers.insert(layer.diff_id, descriptor);
        Ok(descriptor)
    }

    fn document(&mut self, digest: Digest, bytes: &[u8]) -> Result<(), SaveError> {
        if self.blobs.insert(digest) {
            self.output.add_bytes(&blob_name(&digest), bytes)?;
        }
        Ok(())
    }
}

/// Returns an index entry for each name of an image, or one without a name.
fn named(entry: &Value, selected: &Selected) -> Vec<Value> {
    if selected.tags.is_empty() {
        return vec![entry.clone()];
    }
    let tags = selected.tags.iter();
    tags.map(|(_, full)| {
        let tag = full.rsplit(':').next().unwrap_or(full);
        let mut entry = entry.clone();
        entry["annotations"] = json!({CONTAINERD_NAME: full, REF_NAME: tag});
        entry
    })
    .collect()
}

fn of_compression(layer: Digest, error: CompressError) -> SaveError {
    match error {
        CompressError::Tar(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => {
            SaveError::Cancelled
        }
        CompressError::Tar(source) => SaveError::Content {
            name: format!("layer {layer}"),
            source,
        },
        CompressError::File(error) => SaveError::Store(error),
    }
}

fn blob_name(digest: &Digest) -> String {
    format!("blobs/sha256/{}", digest.hex())
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
