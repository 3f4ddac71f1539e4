use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

/// One layer as the layout stores it.
#[derive(Debug, Clone)]
pub(crate) struct Blob {
    pub(crate) path: PathBuf,
    pub(crate) size_bytes: u64,
}

/// Returns the layers of the layout's first image.
pub(crate) fn layer_blobs(layout: &Path) -> Result<Vec<Blob>> {
    let manifest = read(&blob_path(layout, &manifest_digest(layout)?)?)?;
    let layers = manifest["layers"]
        .as_array()
        .context("the manifest has no layers")?;
    layers
        .iter()
        .map(|layer| {
            let digest = layer["digest"]
                .as_str()
                .context("the manifest has a layer without a digest")?;
            let size_bytes = layer["size"]
                .as_u64()
                .context("the manifest has a layer without a size")?;
            Ok(Blob {
                path: blob_path(layout, digest)?,
                size_bytes,
            })
        })
        .collect()
}

/// Returns the digest of the layout's first manifest.
pub(crate) fn manifest_digest(layout: &Path) -> Result<String> {
    let index = read(&layout.join("index.json"))?;
    let digest = index["manifests"][0]["digest"].as_str();
    Ok(digest.context("index.json has no manifest")?.to_owned())
}

/// Returns the tag of the layout's first image.
pub(crate) fn tag(layout: &Path) -> Result<String> {
    let index = read(&layout.join("index.json"))?;
    let names = &index["manifests"][0]["annotations"];
    let name = names["org.opencontainers.image.ref.name"].as_str();
    Ok(name
        .context("the image of index.json has no name")?
        .to_owned())
}

fn read(path: &Path) -> Result<Value> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&bytes).with_context(|| format!("{} is not JSON", path.display()))
}

fn blob_path(layout: &Path, digest: &str) -> Result<PathBuf> {
    let (algorithm, hex) = digest.split_once(':').context("a digest has no colon")?;
    Ok(layout.join("blobs").join(algorithm).join(hex))
}
