use std::collections::BTreeMap;
use std::io::{self, Read as _};

use oci_image::{
    ConfigFile, Descriptor, Digest, Hasher, Image, Manifest, ManifestError, Platform,
    make_manifest, media_type,
};
use serde::Deserialize;

use super::Found;
use super::choice::Choice;
use super::container::Container;
use super::error::ArchiveError;
use super::skipped::Skipped;
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

/// Returns true if the container is a docker archive.
pub(super) fn is_archive(container: &Container) -> bool {
    container.has(TABLE)
}

/// Returns the images of the archive for the platform, and what was passed over.
/// The archive has no manifest, so one is made from the config and the layers in the archive; the
/// same content gives the same manifest.
pub(super) fn images(
    container: &Container,
    wanted: &Platform,
    choice: Option<&Choice>,
) -> Result<(Vec<Found>, Skipped), ArchiveError> {
    let bytes = container.read(TABLE)?;
    let table: Vec<Saved> =
        serde_json::from_slice(&bytes).map_err(|source| ArchiveError::Json {
            path: container.path.clone(),
            name: TABLE,
            source,
        })?;
    let (mut images, mut skipped, mut first) = (Vec::new(), Skipped::default(), None);
    for saved in chosen(container, table, choice)? {
        match image(container, &saved, wanted) {
            Ok(found) => images.push(found),
            Err(ArchiveError::Manifest { path, source }) if source.is_unsuitable() => {
                skipped.record(&source);
                first.get_or_insert(ArchiveError::Manifest { path, source });
            }
            Err(error) => return Err(error),
        }
    }
    match first {
        Some(error) if images.is_empty() => Err(error),
        _ => Ok((images, skipped)),
    }
}

/// Returns the images that were chosen, with the names that were.
fn chosen(
    container: &Container,
    table: Vec<Saved>,
    choice: Option<&Choice>,
) -> Result<Vec<Saved>, ArchiveError> {
    let Some(choice) = choice else {
        return Ok(table);
    };
    let tags = |saved: &Saved| saved.repo_tags.clone().unwrap_or_default();
    let tags: Vec<Vec<String>> = table.iter().map(tags).collect();
    let chosen = choice.tagged(tags.clone());
    if chosen.is_empty() {
        let names = tags.into_iter().flatten();
        return Err(container.not_chosen(choice, names));
    }
    let mut table: Vec<Option<Saved>> = table.into_iter().map(Some).collect();
    let mut images = Vec::new();
    for (position, tags) in chosen {
        if let Some(mut saved) = table.get_mut(position).and_then(Option::take) {
            saved.repo_tags = Some(tags);
            images.push(saved);
        }
    }
    Ok(images)
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
    let descriptor = Descriptor {
        digest: actual,
        size_bytes,
    };
    let (mut files, mut layers) = (BTreeMap::new(), Vec::new());
    for (file, diff_id) in saved.layers.iter().zip(&config.diff_ids) {
        let (media_type, blob) = layer(container, file, *diff_id)?;
        files.insert(blob.digest, file.clone());
        layers.push((media_type, blob));
    }
    let raw = make_manifest(&descriptor, layers.iter().copied());
    let manifest = Manifest {
        config: descriptor,
        layers: layers.iter().map(|&(_, blob)| blob).collect(),
        layer_media_types: layers.iter().map(|&(kind, _)| kind.to_owned()).collect(),
        media_type: media_type::OCI_MANIFEST.to_owned(),
        raw: raw.as_slice().into(),
        elsewhere: BTreeMap::new(),
    };
    let digest = Digest::compute(&raw);
    let image = Image::new(digest, &manifest, config, wanted).map_err(manifest_error)?;
    let names = saved.repo_tags.iter().flatten().cloned().collect();
    Ok(Found {
        image,
        names,
        files: Some(files),
    })
}

/// Returns the media type and the descriptor of a layer's file.
/// A plain tar should have the digest that its diff ID states, which is checked when it is read;
/// the digest of a compressed one must be computed.
fn layer(
    container: &Container,
    file: &str,
    diff_id: Digest,
) -> Result<(&'static str, Descriptor), ArchiveError> {
    let entry = container.open(file)?;
    let size_bytes = entry.size_bytes;
    let (compression, mut blob) = detect(entry.reader).map_err(ArchiveError::Io)?;
    if compression == Compression::None {
        let digest = diff_id;
        let blob = Descriptor { digest, size_bytes };
        return Ok((media_type::OCI_LAYER, blob));
    }
    let media_type = match compression {
        Compression::Gzip => media_type::OCI_LAYER_GZIP,
        Compression::Zstd => media_type::OCI_LAYER_ZSTD,
        _ => media_type::OCI_LAYER,
    };
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match blob.read(&mut buffer) {
            Ok(0) => {
                let digest = hasher.finish();
                return Ok((media_type, Descriptor { digest, size_bytes }));
            }
            Ok(count) => hasher.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(ArchiveError::Io(error)),
        }
    }
}

/// Returns the digest that a config's file name states: `<hex>.json` or `blobs/sha256/<hex>`.
fn named_digest(file: &str) -> Option<Digest> {
    let name = file.rsplit('/').next().unwrap_or(file);
    Digest::from_hex(name.strip_suffix(".json").unwrap_or(name))
}
