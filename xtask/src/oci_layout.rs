//! OCI layouts of one image, written blob by blob.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use fs_err as fs;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The tag of the only image in a layout.
pub(crate) const TAG: &str = "row";

/// A layer as it lies in a layout: its tar, and how that is wrapped.
#[derive(Debug, Clone)]
pub(crate) struct Blob {
    /// The last part of its media type.
    pub(crate) media_type: &'static str,
    pub(crate) bytes: Vec<u8>,
    /// Digest of the tar.
    pub(crate) diff_id: String,
}

impl Blob {
    /// A layer without compression.
    pub(crate) fn plain(tar: Vec<u8>) -> Self {
        Self {
            media_type: "layer.v1.tar",
            diff_id: digest(&tar),
            bytes: tar,
        }
    }

    /// A layer in the bytes that `wrap` makes of it.
    pub(crate) fn wrapped(
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

/// One gzip member.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .expect("memory takes every write")
}

/// One zstd frame of a single raw block list: no compression, which every decoder accepts.
pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
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

/// A skippable zstd frame (RFC 8878, 3.1.2).
pub(crate) fn skippable(content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("a test's frame is small");
    [
        &0x184D_2A50_u32.to_le_bytes()[..],
        &length.to_le_bytes(),
        content,
    ]
    .concat()
}

/// Writes an OCI layout of one image.
pub(crate) fn write(layout: &Path, layers: &[Blob]) -> Result<()> {
    let config = json!({"Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]});
    write_with(layout, layers, &config)
}

/// The same with what the image's config says of how it is run.
pub(crate) fn write_with(layout: &Path, layers: &[Blob], config: &Value) -> Result<()> {
    fs::create_dir_all(layout.join("blobs/sha256"))?;
    fs::write(
        layout.join("oci-layout"),
        r#"{"imageLayoutVersion":"1.0.0"}"#,
    )?;
    let mut descriptors = Vec::new();
    for layer in layers {
        descriptors.push(blob(layout, layer.media_type, &layer.bytes)?);
    }
    let diff_ids: Vec<&str> = layers.iter().map(|layer| layer.diff_id.as_str()).collect();
    let config = json!({
        "architecture": oci_architecture(),
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
    });
    let config = blob(layout, "config.v1+json", config.to_string().as_bytes())?;
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": descriptors});
    let mut manifest = blob(layout, "manifest.v1+json", manifest.to_string().as_bytes())?;
    manifest["annotations"] = json!({"org.opencontainers.image.ref.name": TAG});
    let index = json!({"schemaVersion": 2, "manifests": [manifest]});
    fs::write(layout.join("index.json"), index.to_string())?;
    Ok(())
}

/// The layers of the one image in a layout.
pub(crate) fn read(layout: &Path) -> Result<Vec<Blob>> {
    let blob = |descriptor: &Value| -> Result<Vec<u8>> {
        let digest = descriptor["digest"].as_str().context("no digest")?;
        let hex = digest.trim_start_matches("sha256:");
        Ok(fs::read(layout.join("blobs/sha256").join(hex))?)
    };
    let index: Value = serde_json::from_slice(&fs::read(layout.join("index.json"))?)?;
    let manifest: Value = serde_json::from_slice(&blob(&index["manifests"][0])?)?;
    let config: Value = serde_json::from_slice(&blob(&manifest["config"])?)?;
    let layers = manifest["layers"].as_array().context("no layers")?;
    let diff_ids = config["rootfs"]["diff_ids"]
        .as_array()
        .context("no diff IDs")?;
    let layers = layers.iter().zip(diff_ids).map(|(layer, diff_id)| {
        let bytes = blob(layer)?;
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

fn oci_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "amd64",
    }
}

fn blob(layout: &Path, media_type: &str, bytes: &[u8]) -> Result<Value> {
    let digest = digest(bytes);
    let hex = digest.trim_start_matches("sha256:");
    fs::write(layout.join("blobs/sha256").join(hex), bytes)?;
    Ok(json!({
        "mediaType": format!("application/vnd.oci.image.{media_type}"),
        "digest": digest,
        "size": bytes.len(),
    }))
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
