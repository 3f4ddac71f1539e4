use std::collections::BTreeMap;
use std::io::{self, Read as _};

use oci_image::{
    ConfigFile, Descriptor, Digest, Hasher, Image, Manifest, ManifestError, Platform,
    RawDescriptor, media_type,
};
use serde::{Deserialize, Serialize};

use super::Found;
use super::container::Container;
use super::error::ArchiveError;
use crate::pipeline::{Compression, detect};

const TABLE: &str = "manifest.json";

/// An entry of the `manifest.json` that `docker save` writes, one per image.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Saved {
    config: String,
    repo_tags: Option<Vec<String>>,
    layers: Vec<String>,
}

/// The manifest that a registry would serve for the image, with the known fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Synthesised {
    schema_version: u32,
    media_type: &'static str,
    config: RawDescriptor,
    layers: Vec<RawDescriptor>,
}

/// Returns true if the container is a docker archive.
pub(super) fn is_archive(container: &Container) -> bool {
    container.has(TABLE)
}

/// Returns every image of the archive.
/// The archive has no manifest, so one is made from the config and the layers in the archive; the
/// same content gives the same manifest.
pub(super) fn images(container: &Container, wanted: &Platform) -> Result<Vec<Found>, ArchiveError> {
    let bytes = container.read(TABLE)?;
    let table: Vec<Saved> =
        serde_json::from_slice(&bytes).map_err(|source| ArchiveError::Json {
            path: container.path.clone(),
            name: TABLE,
            source,
        })?;
    table
        .iter()
        .map(|saved| image(container, saved, wanted))
        .collect()
}

fn image(container: &Container, saved: &Saved, wanted: &Platform) -> Result<Found, ArchiveError> {
    let manifest_error = |source| ArchiveError::Manifest {
        path: container.path.clone(),
        source,
    };
    let bytes = container.read(&saved.config)?;
    let actual = Digest::compute(&bytes);
    if let Some(expected) = named_digest(&saved.config).filter(|&expected| expected != actual) {
        let what = "config";
        return Err(manifest_error(ManifestError::WrongDigest {
            what,
            expected,
            actual,
        }));
    }
    let config = ConfigFile::parse(&bytes).map_err(manifest_error)?;
    let (diff_ids, layers) = (config.diff_ids.len(), saved.layers.len());
    if diff_ids != layers {
        return Err(manifest_error(ManifestError::LayerCount {
            diff_ids,
            layers,
        }));
    }
    let size_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let mut manifest = Manifest {
        config: Descriptor {
            digest: actual,
            size_bytes,
        },
        layers: Vec::new(),
        elsewhere: BTreeMap::new(),
    };
    let mut files = BTreeMap::new();
    for (file, diff_id) in saved.layers.iter().zip(&config.diff_ids) {
        let blob = layer(container, file, *diff_id)?;
        files.insert(blob.digest, file.clone());
        manifest.layers.push(blob);
    }
    let digest = synthesise(&manifest);
    let image = Image::new(digest, &manifest, config, wanted).map_err(manifest_error)?;
    let names = saved.repo_tags.iter().flatten().cloned().collect();
    Ok(Found {
        image,
        names,
        files: Some(files),
    })
}

/// Returns the descriptor of a layer's file.
/// A plain tar should have the digest that its diff ID states, which is checked when it is read;
/// the digest of a compressed one must be computed.
fn layer(container: &Container, file: &str, diff_id: Digest) -> Result<Descriptor, ArchiveError> {
    let entry = container.open(file)?;
    let size_bytes = entry.size_bytes;
    let (compression, mut blob) = detect(entry.reader).map_err(ArchiveError::Io)?;
    if compression == Compression::None {
        return Ok(Descriptor {
            digest: diff_id,
            size_bytes,
        });
    }
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match blob.read(&mut buffer) {
            Ok(0) => {
                return Ok(Descriptor {
                    digest: hasher.finish(),
                    size_bytes,
                });
            }
            Ok(count) => hasher.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(ArchiveError::Io(error)),
        }
    }
}

fn synthesise(manifest: &Manifest) -> Digest {
    let raw = |media_type: &str, blob: &Descriptor| {
        RawDescriptor::new(media_type, blob.digest, blob.size_bytes)
    };
    let layers = manifest
        .layers
        .iter()
        .map(|layer| raw(media_type::OCI_LAYER, layer));
    let document = Synthesised {
        schema_version: 2,
        media_type: media_type::OCI_MANIFEST,
        config: raw(media_type::OCI_CONFIG, &manifest.config),
        layers: layers.collect(),
    };
    let json = serde_json::to_vec(&document).expect("plain structs have a JSON form");
    Digest::compute(&json)
}

/// Returns the digest that a config's file name states: `<hex>.json` or `blobs/sha256/<hex>`.
fn named_digest(file: &str) -> Option<Digest> {
    let name = file.rsplit('/').next().unwrap_or(file);
    Digest::from_hex(name.strip_suffix(".json").unwrap_or(name))
}
