use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The size of a file: small, so that the cost of a file is measured and not that of its bytes.
const FILE_BYTES: usize = 100;
/// The number of files in a directory.
const DIRECTORY_FILES: u32 = 100;

/// The shape of an image that is made for one point of a series.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(super) layers: u32,
    /// The number of files of all layers together.
    pub(super) files: u32,
    /// The number of whiteouts in an additional top layer, which may be 0. `None` without that
    /// layer.
    pub(super) whiteouts: Option<u32>,
    /// The length of each file, in bytes; at least 4.
    file_bytes: usize,
}

impl Shape {
    /// Returns an image with its files spread over layers.
    pub(crate) const fn spread(layers: u32, files: u32) -> Self {
        Self {
            layers,
            files,
            whiteouts: None,
            file_bytes: FILE_BYTES,
        }
    }

    /// Returns the same image with files of another length.
    pub(crate) const fn with_file_bytes(mut self, file_bytes: usize) -> Self {
        self.file_bytes = file_bytes;
        self
    }

    /// Returns an image with a layer of files, and a layer of whiteouts over some of them. The
    /// second layer exists even without a whiteout, so that the number of layers is always the
    /// same.
    pub(super) const fn covered(files: u32, whiteouts: u32) -> Self {
        Self {
            layers: 1,
            files,
            whiteouts: Some(whiteouts),
            file_bytes: FILE_BYTES,
        }
    }

    /// Writes the image as an OCI layout.
    pub(crate) fn write(&self, directory: &Path) -> Result<()> {
        fs::create_dir_all(directory.join("blobs/sha256"))?;
        let mut layers = Vec::new();
        for layer in 0..self.layers {
            let numbers = (layer..self.files).step_by(self.layers as usize);
            layers.push(blob(directory, |out| {
                files_tar(out, numbers, self.file_bytes)
            })?);
        }
        if let Some(count) = self.whiteouts {
            layers.push(blob(directory, |out| whiteouts_tar(out, count))?);
        }
        index(directory, &layers)
    }
}

/// A blob in the layout.
struct Blob {
    digest: String,
    size_bytes: u64,
}

/// Returns the path of a file: the files 0 to 99 are in `d0/d0`.
pub(crate) fn path_of(number: u32) -> String {
    let directory = number / DIRECTORY_FILES;
    format!("d{}/d{directory}/f{number}", directory % DIRECTORY_FILES)
}

/// Returns content that differs in each file, because an image stores equal content only once.
fn content_of(number: u32, length_bytes: usize) -> Vec<u8> {
    let mut content = vec![b'.'; length_bytes];
    content[..4].copy_from_slice(&number.to_le_bytes());
    content
}

fn files_tar(
    out: &mut dyn Write,
    numbers: impl Iterator<Item = u32>,
    file_bytes: usize,
) -> io::Result<()> {
    let mut tar = tar::Builder::new(out);
    for number in numbers {
        append(&mut tar, &path_of(number), &content_of(number, file_bytes))?;
    }
    tar.finish()
}

fn whiteouts_tar(out: &mut dyn Write, count: u32) -> io::Result<()> {
    let mut tar = tar::Builder::new(out);
    for number in 0..count {
        let path = path_of(number);
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", &path));
        append(&mut tar, &format!("{directory}/.wh.{name}"), &[])?;
    }
    tar.finish()
}

fn append(tar: &mut tar::Builder<&mut dyn Write>, path: &str, content: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(1_700_000_000);
    tar.append_data(&mut header, path, content)
}

/// Writes a blob and returns its digest and size.
fn blob(directory: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Blob> {
    let unfinished = directory.join("unfinished");
    let mut out = Hashing {
        inner: BufWriter::with_capacity(1 << 20, File::create(&unfinished)?),
        hash: Sha256::new(),
        size_bytes: 0,
    };
    write(&mut out)?;
    out.inner.flush()?;
    let hex = hex(&out.hash.finalize());
    fs::rename(&unfinished, directory.join("blobs/sha256").join(&hex))?;
    Ok(Blob {
        digest: format!("sha256:{hex}"),
        size_bytes: out.size_bytes,
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn index(directory: &Path, layers: &[Blob]) -> Result<()> {
    let diff_ids: Vec<&str> = layers.iter().map(|layer| layer.digest.as_str()).collect();
    let config = json_blob(
        directory,
        &json!({
            "architecture": oci_architecture(),
            "os": "linux",
            "config": {},
            "rootfs": { "type": "layers", "diff_ids": diff_ids },
        }),
    )?;
    let described = |blob: &Blob, media_type: &str| json!({ "mediaType": media_type, "digest": blob.digest, "size": blob.size_bytes });
    let layer_type = "application/vnd.oci.image.layer.v1.tar";
    let layers: Vec<Value> = layers
        .iter()
        .map(|layer| described(layer, layer_type))
        .collect();
    let manifest_type = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json_blob(
        directory,
        &json!({
            "schemaVersion": 2,
            "mediaType": manifest_type,
            "config": described(&config, "application/vnd.oci.image.config.v1+json"),
            "layers": layers,
        }),
    )?;
    let mut entry = described(&manifest, manifest_type);
    entry["annotations"] = json!({ "org.opencontainers.image.ref.name": "latest" });
    let index = json!({ "schemaVersion": 2, "manifests": [entry] });
    fs::write(directory.join("index.json"), serde_json::to_vec(&index)?)?;
    fs::write(
        directory.join("oci-layout"),
        br#"{"imageLayoutVersion":"1.0.0"}"#,
    )?;
    Ok(())
}

fn json_blob(directory: &Path, value: &Value) -> Result<Blob> {
    let bytes = serde_json::to_vec(value)?;
    blob(directory, |out| out.write_all(&bytes))
}

/// Returns this host's architecture as OCI images name it.
fn oci_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

struct Hashing<W> {
    inner: W,
    hash: Sha256,
    size_bytes: u64,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hash.update(&bytes[..count]);
        self.size_bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
