use std::path::Path;

use anyhow::{Context as _, Result};
use fs_err as fs;
use serde_json::{Value, json};

use crate::oci_layout::digest;

/// Writes a layout of the same layers at `layout`, with another config for what is run.
pub(super) fn reconfigured(source: &Path, layout: &Path, config: &Value) -> Result<()> {
    let blobs = layout.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    for blob in fs::read_dir(source.join("blobs/sha256"))? {
        let blob = blob?;
        fs::hard_link(blob.path(), blobs.join(blob.file_name()))?;
    }
    fs::copy(source.join("oci-layout"), layout.join("oci-layout"))?;
    let read = |digest: &Value| -> Result<Value> {
        let digest = digest.as_str().context("no digest")?;
        let name = digest.trim_start_matches("sha256:");
        Ok(serde_json::from_slice(&fs::read(blobs.join(name))?)?)
    };
    let mut index: Value = serde_json::from_slice(&fs::read(source.join("index.json"))?)?;
    let mut manifest = read(&index["manifests"][0]["digest"])?;
    let mut image = read(&manifest["config"]["digest"])?;
    image["config"] = config.clone();
    put(&blobs, &image, &mut manifest["config"])?;
    put(&blobs, &manifest, &mut index["manifests"][0])?;
    fs::write(layout.join("index.json"), serde_json::to_vec(&index)?)?;
    Ok(())
}

/// Writes a blob and says in its descriptor which it is.
fn put(blobs: &Path, content: &Value, descriptor: &mut Value) -> Result<()> {
    let bytes = serde_json::to_vec(content)?;
    let digest = digest(&bytes);
    fs::write(blobs.join(digest.trim_start_matches("sha256:")), &bytes)?;
    descriptor["digest"] = json!(digest);
    descriptor["size"] = json!(bytes.len());
    Ok(())
}
