//! OCI layouts of one image: written, read and changed.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use fs_err as fs;
use serde_json::{Value, json};
use testkit::images::{self, BlobDigest, Packing, TestImage, TestLayer};

/// The tag of the only image in a layout.
pub const TAG: &str = "row";

/// A layer's blob in a layout, and the digest of its tar.
#[derive(Debug, Clone)]
pub struct Blob {
    /// The last part of its media type.
    pub media_type: &'static str,
    /// The content of the blob: the tar, plain or compressed.
    pub bytes: Vec<u8>,
    /// Digest of the tar.
    pub diff_id: String,
}

impl Blob {
    /// Returns a layer without compression.
    #[must_use]
    pub fn plain(tar: Vec<u8>) -> Self {
        Self {
            media_type: "layer.v1.tar",
            diff_id: digest(&tar),
            bytes: tar,
        }
    }

    /// Returns a layer in the bytes that `wrap` makes of it.
    pub fn wrapped(
        media_type: &'static str,
        tar: &[u8],
        wrap: impl FnOnce(&[u8]) -> Vec<u8>,
    ) -> Self {
        Self {
            media_type,
            diff_id: digest(tar),
            bytes: wrap(tar),
        }
    }
}

/// Returns the bytes as one gzip member.
///
/// # Panics
/// Never: memory takes every write.
#[must_use]
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .expect("memory takes every write")
}

/// Returns the bytes as one zstd frame of raw blocks: no compression, which every decoder accepts.
///
/// # Panics
/// Never: the lengths of slices fit.
#[must_use]
pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    const BLOCK_MAX_BYTES: usize = 128 << 10;
    let size = u64::try_from(bytes.len()).expect("a slice is below 2^64");
    // Magic; frame header: single segment, 8 bytes of content size, no checksum (RFC 8878, 3.1.1).
    let mut frame = [&0xFD2F_B528_u32.to_le_bytes()[..], &[0b1110_0000]].concat();
    frame.extend(size.to_le_bytes());
    let blocks: Vec<&[u8]> = match bytes {
        [] => vec![&[]],
        _ => bytes.chunks(BLOCK_MAX_BYTES).collect(),
    };
    for (index, block) in blocks.iter().enumerate() {
        let is_last = u32::from(index + 1 == blocks.len());
        let length = u32::try_from(block.len()).expect("a block is below 128 KiB");
        frame.extend(&(length << 3 | is_last).to_le_bytes()[..3]);
        frame.extend(*block);
    }
    frame
}

/// Returns the bytes as a skippable zstd frame (RFC 8878, 3.1.2).
///
/// # Panics
/// If the content is 4 GiB or longer.
#[must_use]
pub fn skippable(content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("a test's frame is small");
    [
        &0x184D_2A50_u32.to_le_bytes()[..],
        &length.to_le_bytes(),
        content,
    ]
    .concat()
}

/// Writes an OCI layout of one image.
///
/// # Panics
/// If a file cannot be written.
pub fn write(layout: &Path, layers: &[Blob]) {
    let config = json!({"Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]});
    write_with(layout, layers, &config);
}

/// Writes an OCI layout of one image with this config.
///
/// # Panics
/// If a file cannot be written.
pub fn write_with(layout: &Path, layers: &[Blob], config: &Value) {
    let diff_ids: Vec<&str> = layers.iter().map(|layer| layer.diff_id.as_str()).collect();
    let config = json!({
        "architecture": images::host_architecture(),
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
    });
    let config = config.to_string().into_bytes();
    let descriptor = |media_type: &str, bytes: &[u8]| {
        images::descriptor(&format!("application/vnd.oci.image.{media_type}"), bytes)
    };
    let descriptors = layers
        .iter()
        .map(|layer| descriptor(layer.media_type, &layer.bytes));
    let manifest = json!({
        "schemaVersion": 2,
        "config": descriptor("config.v1+json", &config),
        "layers": descriptors.collect::<Vec<_>>(),
    });
    let stored = |layer: &Blob| TestLayer {
        tar: Vec::new(),
        blob: layer.bytes.clone(),
        packing: Packing::Plain,
    };
    let image = TestImage {
        layers: layers.iter().map(stored).collect(),
        config,
        manifest: manifest.to_string().into_bytes(),
    };
    images::write_directory(&image.layout(Some(TAG)), layout);
}

/// Returns the digest of a blob, as `sha256:` and hexadecimal digits.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    BlobDigest::compute(bytes).to_string()
}

/// An OCI layout on disk, of which only the first image is used.
#[derive(Debug)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// Returns the layout in this directory, which is not read yet.
    #[must_use]
    pub const fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// Makes a copy at `root`. Its blobs are hard links to those of `source`, not to be written to.
    ///
    /// # Errors
    /// If a file cannot be read or made.
    pub fn linked(source: &Path, root: PathBuf) -> Result<Self> {
        let blobs = root.join("blobs/sha256");
        fs::create_dir_all(&blobs)?;
        for blob in fs::read_dir(source.join("blobs/sha256"))? {
            let blob = blob?;
            fs::hard_link(blob.path(), blobs.join(blob.file_name()))?;
        }
        for name in ["oci-layout", "index.json"] {
            fs::copy(source.join(name), root.join(name))?;
        }
        Ok(Self { root })
    }

    /// Returns the layout's directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of a descriptor's blob.
    ///
    /// # Errors
    /// If the descriptor has no SHA-256 digest.
    pub fn blob(&self, descriptor: &Value) -> Result<PathBuf> {
        let digest = descriptor["digest"].as_str().context("no digest")?;
        let hex = digest.strip_prefix("sha256:").context("not sha256")?;
        Ok(self.root.join("blobs/sha256").join(hex))
    }

    /// Returns the manifest, and its bytes.
    ///
    /// # Errors
    /// If the layout has no manifest.
    pub fn manifest(&self) -> Result<(Value, Vec<u8>)> {
        let bytes = fs::read(self.blob(&self.index()?["manifests"][0])?)?;
        Ok((serde_json::from_slice(&bytes)?, bytes))
    }

    /// Returns the image's config.
    ///
    /// # Errors
    /// If the layout has no config.
    pub fn config(&self) -> Result<Value> {
        let (manifest, _) = self.manifest()?;
        let bytes = fs::read(self.blob(&manifest["config"])?)?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// Returns the descriptors of the layers.
    ///
    /// # Errors
    /// If the layout has no manifest.
    pub fn layers(&self) -> Result<Vec<Value>> {
        let (manifest, _) = self.manifest()?;
        Ok(manifest["layers"].as_array().context("no layers")?.clone())
    }

    /// Replaces the image's manifest.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn set_manifest(&self, manifest: &Value) -> Result<()> {
        let mut index = self.index()?;
        self.put(manifest, &mut index["manifests"][0])?;
        Ok(fs::write(self.root.join("index.json"), index.to_string())?)
    }

    /// Replaces the image's config.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn set_config(&self, config: &Value) -> Result<()> {
        let (mut manifest, _) = self.manifest()?;
        self.put(config, &mut manifest["config"])?;
        self.set_manifest(&manifest)
    }

    fn index(&self) -> Result<Value> {
        Ok(serde_json::from_slice(&fs::read(
            self.root.join("index.json"),
        )?)?)
    }

    /// Writes a blob, and records its digest and size in its descriptor.
    fn put(&self, content: &Value, descriptor: &mut Value) -> Result<()> {
        let bytes = content.to_string().into_bytes();
        descriptor["digest"] = json!(digest(&bytes));
        descriptor["size"] = json!(bytes.len());
        Ok(fs::write(self.blob(descriptor)?, bytes)?)
    }
}

/// Reads the layers of the first image in a layout.
///
/// # Errors
/// If the directory is not a layout, or a file cannot be read.
pub fn read(layout: &Path) -> Result<Vec<Blob>> {
    let layout = Layout::at(layout.to_owned());
    let config = layout.config()?;
    let diff_ids = config["rootfs"]["diff_ids"].as_array();
    let diff_ids = diff_ids.context("no diff IDs")?;
    let layers = layout.layers()?;
    let layers = layers.iter().zip(diff_ids).map(|(layer, diff_id)| {
        let bytes = fs::read(layout.blob(layer)?)?;
        let is_gzip = bytes.starts_with(&[0x1f, 0x8b]);
        Ok(Blob {
            media_type: if is_gzip {
                "layer.v1.tar+gzip"
            } else {
                "layer.v1.tar"
            },
            bytes,
            diff_id: diff_id.as_str().context("a diff ID is text")?.to_owned(),
        })
    });
    layers.collect()
}
