//! Test images, as blobs, as layouts, as archives.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use fs_err as fs;
use image_store::Digest;
use serde_json::{Value, json};

pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// How a layer's blob is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

/// A layer as tar and as blob.
#[derive(Debug, Clone)]
pub(crate) struct TestLayer {
    pub(crate) tar: Vec<u8>,
    pub(crate) blob: Vec<u8>,
    pub(crate) packing: Packing,
}

/// An image with all that belongs to it.
#[derive(Debug, Clone)]
pub(crate) struct TestImage {
    pub(crate) layers: Vec<TestLayer>,
    pub(crate) config: Vec<u8>,
    pub(crate) manifest: Vec<u8>,
}

impl TestLayer {
    pub(crate) fn new(files: &[(&str, &[u8])], packing: Packing) -> Self {
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

    pub(crate) fn diff_id(&self) -> Digest {
        Digest::of(&self.tar)
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.blob)
    }
}

pub(crate) fn pack(bytes: &[u8], packing: Packing) -> Vec<u8> {
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
    /// Three layers, each packed another way; the second replaces a file of the first.
    pub(crate) fn sample() -> Self {
        let noise: Vec<u8> = (0..200_000_u32)
            .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
            .collect();
        Self::new(vec![
            TestLayer::new(&[("greeting", b"hello"), ("noise", &noise)], Packing::Gzip),
            TestLayer::new(&[("greeting", b"good day"), ("empty", b"")], Packing::Zstd),
            TestLayer::new(&[("last", b"words")], Packing::Plain),
        ])
    }

    pub(crate) fn new(layers: Vec<TestLayer>) -> Self {
        Self::for_architecture(layers, host_architecture())
    }

    pub(crate) fn for_architecture(layers: Vec<TestLayer>, architecture: &str) -> Self {
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

    pub(crate) fn with_config(layers: Vec<TestLayer>, config: &Value) -> Self {
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

    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.manifest)
    }

    /// Every blob by digest, the manifest among them.
    pub(crate) fn blobs(&self) -> BTreeMap<Digest, Vec<u8>> {
        let layers = self.layers.iter().map(|layer| layer.blob.clone());
        let all = layers.chain([self.config.clone(), self.manifest.clone()]);
        all.map(|blob| (Digest::of(&blob), blob)).collect()
    }

    /// The manifest with one change.
    pub(crate) fn with_manifest(mut self, change: impl FnOnce(&mut Value)) -> Self {
        let mut manifest = serde_json::from_slice(&self.manifest).expect("a manifest");
        change(&mut manifest);
        self.manifest = manifest.to_string().into_bytes();
        self
    }

    /// The files of an OCI layout with this image under a name.
    pub(crate) fn layout(&self, name: Option<&str>) -> Vec<(String, Vec<u8>)> {
        let mut entry = descriptor(MANIFEST, &self.manifest);
        if let Some(name) = name {
            entry["annotations"] = json!({"org.opencontainers.image.ref.name": name});
        }
        layout(&[self], &[entry])
    }

    /// The files of what `docker save` writes.
    pub(crate) fn docker(&self, tags: &[&str]) -> Vec<(String, Vec<u8>)> {
        let config = format!("{}.json", Digest::of(&self.config).hex());
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

/// The files of an OCI layout with these images' blobs and this index.
pub(crate) fn layout(images: &[&TestImage], entries: &[Value]) -> Vec<(String, Vec<u8>)> {
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

pub(crate) fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": Digest::of(bytes).to_string(), "size": bytes.len()})
}

pub(crate) fn platform_entry(image: &TestImage, architecture: &str) -> Value {
    let mut entry = descriptor(MANIFEST, &image.manifest);
    entry["platform"] = json!({"os": "linux", "architecture": architecture});
    entry
}

pub(crate) fn write_directory(files: &[(String, Vec<u8>)], directory: &Path) {
    for (name, content) in files {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, content).expect("written");
    }
}

pub(crate) fn tar_of(files: &[(String, Vec<u8>)]) -> Vec<u8> {
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

pub(crate) fn host_architecture() -> &'static str {
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
