use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::random::Random;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// How many layers the generated images are made of together, and each of them.
const POOL_LAYERS: usize = 24;
const IMAGE_LAYERS: usize = 12;
/// How many layers an image and the next have not in common.
const STEP_LAYERS: usize = 3;
const IMAGES: usize = (POOL_LAYERS - IMAGE_LAYERS) / STEP_LAYERS + 1;

/// Images in memory, as a registry has them.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// By repository.
    pub(super) manifests: BTreeMap<String, Vec<u8>>,
    /// By digest.
    pub(super) blobs: BTreeMap<String, Vec<u8>>,
    /// The digests of layers, by repository.
    pub(super) layers: BTreeMap<String, Vec<String>>,
}

impl Content {
    /// Images of many small layers, most of which they share with others: `overlap-0` and so on.
    pub(super) fn overlapping() -> Result<Self> {
        let mut random = Random::with_seed(7);
        let pool = (0..POOL_LAYERS)
            .map(|index| layer(index, &mut random))
            .collect::<Result<Vec<_>>>()?;
        let mut content = Self::default();
        for index in 0..IMAGES {
            let first = index * STEP_LAYERS;
            content.add(
                &format!("overlap-{index}"),
                &pool[first..first + IMAGE_LAYERS],
            )?;
        }
        Ok(content)
    }

    /// The image of an OCI layout, as `repository`.
    pub(super) fn with_layout(mut self, layout: &Path, repository: &str) -> Result<Self> {
        let index: Value = serde_json::from_slice(&fs::read(layout.join("index.json"))?)?;
        let blob = |digest: &Value| -> Result<(String, Vec<u8>)> {
            let digest = digest.as_str().context("no digest")?;
            let hex = digest.strip_prefix("sha256:").context("not sha256")?;
            let bytes = fs::read(layout.join("blobs/sha256").join(hex))?;
            Ok((digest.to_owned(), bytes))
        };
        let (_, manifest) = blob(&index["manifests"][0]["digest"])?;
        let parsed: Value = serde_json::from_slice(&manifest)?;
        self.blobs.extend([blob(&parsed["config"]["digest"])?]);
        let mut layers = Vec::new();
        for layer in parsed["layers"].as_array().context("no layers")? {
            let (digest, bytes) = blob(&layer["digest"])?;
            layers.push(digest.clone());
            self.blobs.insert(digest, bytes);
        }
        self.layers.insert(repository.to_owned(), layers);
        self.manifests.insert(repository.to_owned(), manifest);
        Ok(self)
    }

    fn add(&mut self, repository: &str, layers: &[Vec<u8>]) -> Result<()> {
        let digests: Vec<String> = layers.iter().map(|layer| digest(layer)).collect();
        let config = serde_json::to_vec(&json!({
            "architecture": "amd64",
            "os": "linux",
            "config": {"Cmd": ["/bin/true"], "Labels": {"name": repository}},
            "rootfs": {"type": "layers", "diff_ids": digests},
        }))?;
        let describe = |media_type: &str, bytes: &[u8]| json!({"mediaType": media_type, "digest": digest(bytes), "size": bytes.len()});
        let manifest = serde_json::to_vec(&json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": describe(CONFIG, &config),
            "layers": layers.iter().map(|layer| describe(LAYER, layer)).collect::<Vec<_>>(),
        }))?;
        self.blobs.insert(digest(&config), config);
        for (digest, layer) in digests.iter().zip(layers) {
            self.blobs.insert(digest.clone(), layer.clone());
        }
        self.layers.insert(repository.to_owned(), digests);
        self.manifests.insert(repository.to_owned(), manifest);
        Ok(())
    }
}

/// A layer's tar: a few files, one that the next layer replaces, some that the last one had.
fn layer(index: usize, random: &mut Random) -> Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut add = |path: &str, bytes: &[u8]| -> Result<()> {
        let mut header = tar::Header::new_ustar();
        header.set_size(u64::try_from(bytes.len())?);
        header.set_mode(0o644);
        header.set_mtime(1_000_000_000 + u64::try_from(index)?);
        Ok(tar.append_data(&mut header, path, bytes)?)
    };
    add("state", format!("layer {index}\n").as_bytes())?;
    let large_bytes = 50_000 + random.below(400_000);
    add(&format!("layer-{index}/large"), &random.bytes(large_bytes))?;
    for file in 0..8 {
        let path = format!("layer-{index}/small-{file}");
        let small_bytes = random.below(6_000);
        add(&path, &random.bytes(small_bytes))?;
    }
    if let Some(below) = index.checked_sub(1) {
        add(&format!("layer-{below}/.wh.small-0"), b"")?;
    }
    Ok(tar.into_inner()?)
}

pub(super) fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{hex}")
}
