//! Images for tests, as blobs, as OCI layouts, as archives.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;
use std::path::Path;

use fs_err as fs;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The media type of a manifest.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type of an index.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// The digest of a blob, `sha256:` and hexadecimal digits when it is printed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlobDigest {
    hex: String,
}

impl BlobDigest {
    /// Returns the digest of these bytes.
    #[must_use]
    pub fn compute(bytes: &[u8]) -> Self {
        let digits = Sha256::digest(bytes);
        let hex = digits.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { hex }
    }

    /// The digits alone.
    #[must_use]
    pub fn hex(&self) -> &str {
        &self.hex
    }
}

impl fmt::Display for BlobDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sha256:{}", self.hex)
    }
}

/// The compression of a layer's blob.
#[derive(Debug, Clone, Copy)]
pub enum Packing {
    /// The tar itself.
    Plain,
    /// One gzip member.
    Gzip,
    /// One zstd frame.
    Zstd,
}

/// A layer as tar stream and as blob.
#[derive(Debug, Clone)]
pub struct TestLayer {
    /// The tar.
    pub tar: Vec<u8>,
    /// The tar as it is stored.
    pub blob: Vec<u8>,
    /// The compression of the blob.
    pub packing: Packing,
}

/// An image with its layers, config and manifest.
#[derive(Debug, Clone)]
pub struct TestImage {
    /// Base first.
    pub layers: Vec<TestLayer>,
    /// JSON.
    pub config: Vec<u8>,
    /// JSON.
    pub manifest: Vec<u8>,
}

impl TestLayer {
    /// Returns a layer of regular files.
    ///
    /// # Panics
    /// A name is longer than a tar header takes.
    #[must_use]
    pub fn new(files: &[(&str, &[u8])], packing: Packing) -> Self {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in files {
            let mut header = tar::Header::new_ustar();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            header.set_mtime(1_700_000_000);
            builder
                .append_data(&mut header, name, *content)
                .expect("appended");
        }
        let tar = builder.into_inner().expect("finished");
        let blob = pack(&tar, packing);
        Self { tar, blob, packing }
    }

    /// Returns the digest of the tar.
    #[must_use]
    pub fn diff_id(&self) -> BlobDigest {
        BlobDigest::compute(&self.tar)
    }

    /// Returns the digest of the blob.
    #[must_use]
    pub fn digest(&self) -> BlobDigest {
        BlobDigest::compute(&self.blob)
    }
}

/// Returns the bytes as they are stored.
///
/// # Panics
/// Never: memory takes every write.
#[must_use]
pub fn pack(bytes: &[u8], packing: Packing) -> Vec<u8> {
    match packing {
        Packing::Plain => bytes.to_vec(),
        Packing::Zstd => zstd::bulk::compress(bytes, 3).expect("compressed"),
        Packing::Gzip => {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).expect("compressed");
            encoder.finish().expect("finished")
        }
    }
}

impl TestImage {
    /// Returns an image of three layers with different compressions; the second replaces a file of
    /// the first.
    #[must_use]
    pub fn sample() -> Self {
        let noise: Vec<u8> = (0..200_000_u32)
            .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
            .collect();
        Self::new(vec![
            TestLayer::new(&[("greeting", b"hello"), ("noise", &noise)], Packing::Gzip),
            TestLayer::new(&[("greeting", b"good day"), ("empty", b"")], Packing::Zstd),
            TestLayer::new(&[("last", b"words")], Packing::Plain),
        ])
    }

    /// Returns an image of these layers for this host.
    #[must_use]
    pub fn new(layers: Vec<TestLayer>) -> Self {
        Self::for_architecture(layers, host_architecture())
    }

    /// Returns an image of these layers for an architecture, in the words of OCI.
    #[must_use]
    pub fn for_architecture(layers: Vec<TestLayer>, architecture: &str) -> Self {
        let diff_ids: Vec<String> = layers
            .iter()
            .map(|layer| layer.diff_id().to_string())
            .collect();
        let config = json!({
            "architecture": architecture,
            "os": "linux",
            "config": {"Cmd": ["/bin/sh"], "Env": ["PATH=/bin"], "WorkingDir": "/"},
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
        });
        Self::with_config(layers, &config)
    }

    /// Returns an image of these layers with a config of its own.
    #[must_use]
    pub fn with_config(layers: Vec<TestLayer>, config: &Value) -> Self {
        let config = config.to_string().into_bytes();
        let descriptors: Vec<Value> = layers
            .iter()
            .map(|layer| descriptor(&layer_type(layer.packing), &layer.blob))
            .collect();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor(CONFIG, &config),
            "layers": descriptors,
        });
        Self {
            layers,
            config,
            manifest: manifest.to_string().into_bytes(),
        }
    }

    /// Returns the digest of the manifest.
    #[must_use]
    pub fn digest(&self) -> BlobDigest {
        BlobDigest::compute(&self.manifest)
    }

    /// Returns every blob by digest, including the manifest.
    #[must_use]
    pub fn blobs(&self) -> BTreeMap<BlobDigest, Vec<u8>> {
        let layers = self.layers.iter().map(|layer| layer.blob.clone());
        let all = layers.chain([self.config.clone(), self.manifest.clone()]);
        all.map(|blob| (BlobDigest::compute(&blob), blob)).collect()
    }

    /// Returns the image with another manifest.
    ///
    /// # Panics
    /// The manifest is not JSON.
    #[must_use]
    pub fn with_manifest(mut self, change: impl FnOnce(&mut Value)) -> Self {
        let mut manifest = serde_json::from_slice(&self.manifest).expect("a manifest");
        change(&mut manifest);
        self.manifest = manifest.to_string().into_bytes();
        self
    }

    /// Returns the files of an OCI layout with this image, under a name or under none.
    #[must_use]
    pub fn layout(&self, name: Option<&str>) -> Vec<(String, Vec<u8>)> {
        let mut entry = descriptor(MANIFEST, &self.manifest);
        if let Some(name) = name {
            entry["annotations"] = json!({"org.opencontainers.image.ref.name": name});
        }
        layout(&[self], &[entry])
    }

    /// Returns the files that `docker save` writes.
    #[must_use]
    pub fn docker(&self, tags: &[&str]) -> Vec<(String, Vec<u8>)> {
        let config = format!("{}.json", BlobDigest::compute(&self.config).hex());
        let layer_name = |index: usize| format!("layer-{index}/layer.tar");
        let names: Vec<String> = (0..self.layers.len()).map(layer_name).collect();
        let table = json!([{"Config": config, "RepoTags": tags, "Layers": names}]);
        let mut files: Vec<(String, Vec<u8>)> = names
            .into_iter()
            .zip(&self.layers)
            .map(|(name, layer)| (name, layer.tar.clone()))
            .collect();
        files.push((config, self.config.clone()));
        files.push(("manifest.json".to_owned(), table.to_string().into_bytes()));
        files
    }
}

/// Returns the files of an OCI layout with these images' blobs and this index.
#[must_use]
pub fn layout(images: &[&TestImage], entries: &[Value]) -> Vec<(String, Vec<u8>)> {
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
    let mut files: Vec<(String, Vec<u8>)> = images
        .iter()
        .flat_map(|image| image.blobs())
        .map(|(digest, blob)| (format!("blobs/sha256/{}", digest.hex()), blob))
        .collect();
    files.push(("index.json".to_owned(), index.to_string().into_bytes()));
    files.push((
        "oci-layout".to_owned(),
        br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec(),
    ));
    files
}

/// Returns what describes a blob in a manifest.
#[must_use]
pub fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": BlobDigest::compute(bytes).to_string(), "size": bytes.len()})
}

/// Returns an index's entry for an image.
#[must_use]
pub fn platform_entry(image: &TestImage, architecture: &str) -> Value {
    let mut entry = descriptor(MANIFEST, &image.manifest);
    entry["platform"] = json!({"os": "linux", "architecture": architecture});
    entry
}

/// Writes files by their paths below a directory.
///
/// # Panics
/// A file cannot be written.
pub fn write_directory(files: &[(String, Vec<u8>)], directory: &Path) {
    for (name, content) in files {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, content).expect("written");
    }
}

/// Returns files as a tar.
///
/// # Panics
/// A path is longer than a tar header takes.
#[must_use]
pub fn tar_of(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder
            .append_data(&mut header, name, &content[..])
            .expect("appended");
    }
    builder.into_inner().expect("finished")
}

/// Returns this host's architecture, in the words of OCI.
#[must_use]
pub fn host_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn layer_type(packing: Packing) -> String {
    match packing {
        Packing::Plain => LAYER.to_owned(),
        Packing::Gzip => format!("{LAYER}+gzip"),
        Packing::Zstd => format!("{LAYER}+zstd"),
    }
}
