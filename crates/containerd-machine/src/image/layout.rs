//! The blobs of an image as an OCI layout, for the store.

use std::io;
use std::path::{Path, PathBuf};

use durable_files::UnfinishedDirectory;
use oci_image::{Descriptor, RawDescriptor};
use serde_json::json;
use tokio::fs;
use tokio::io::AsyncWriteExt as _;

use super::ImageError;
use super::manifest::Found;
use crate::engine::Engine;

/// The marker of a layout (OCI image specification, image-layout.md).
const MARKER: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;

/// An OCI layout of one image. It is removed when this is dropped; if its process is killed, the next layout in the
/// same home removes it.
pub(super) struct Layout {
    directory: UnfinishedDirectory,
    home: PathBuf,
}

impl Layout {
    /// Makes an empty layout in a directory.
    pub(super) fn create(home: &Path) -> Result<Self, ImageError> {
        let make = || {
            durable_files::ensure_directory(home)?;
            let directory = UnfinishedDirectory::create(home)?;
            fs_err::create_dir_all(directory.path().join("blobs/sha256"))?;
            fs_err::write(directory.path().join("oci-layout"), MARKER)?;
            Ok(directory)
        };
        let directory = make().map_err(failed(home))?;
        Ok(Self {
            directory,
            home: home.to_owned(),
        })
    }

    /// Returns the path of the layout.
    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes the documents and the layers of an image. The store verifies them.
    pub(super) async fn fill(&self, engine: &mut Engine, image: &Found) -> Result<(), ImageError> {
        let manifest = &image.document;
        self.write(&image.manifest, &manifest.raw).await?;
        self.write(&manifest.config, &image.config.raw).await?;
        let mut layers = manifest.layers.clone();
        layers.sort_by_key(|layer| layer.digest);
        layers.dedup_by_key(|layer| layer.digest);
        for layer in &layers {
            self.copy(engine, layer).await?;
        }
        let entry = RawDescriptor::new(
            &manifest.media_type,
            image.manifest.digest,
            image.manifest.size_bytes,
        );
        let index = json!({ "schemaVersion": 2, "manifests": [entry] });
        let index = fs::write(self.path().join("index.json"), index.to_string()).await;
        index.map_err(failed(&self.home))
    }

    async fn write(&self, blob: &Descriptor, bytes: &[u8]) -> Result<(), ImageError> {
        let written = fs::write(self.blob(blob), bytes).await;
        written.map_err(failed(&self.home))
    }

    /// Copies a blob of containerd's content.
    async fn copy(&self, engine: &mut Engine, blob: &Descriptor) -> Result<(), ImageError> {
        let failed = failed(&self.home);
        let digest = blob.digest.to_string();
        let mut file = fs::File::create(self.blob(blob)).await.map_err(&failed)?;
        let mut content = engine.blob(&digest).await?;
        let mut left = blob.size_bytes;
        while let Some(part) = content.next().await? {
            let bytes = u64::try_from(part.len()).unwrap_or(u64::MAX);
            left = left.checked_sub(bytes).ok_or(ImageError::Length {
                digest: digest.clone(),
                expected_bytes: blob.size_bytes,
            })?;
            file.write_all(&part).await.map_err(&failed)?;
        }
        // The file of tokio writes later what it has taken.
        file.flush().await.map_err(&failed)
    }

    fn blob(&self, blob: &Descriptor) -> PathBuf {
        self.path().join("blobs/sha256").join(blob.digest.hex())
    }
}

fn failed(home: &Path) -> impl Fn(io::Error) -> ImageError {
    let home = home.display().to_string();
    move |source| ImageError::Write {
        home: home.clone(),
        source,
    }
}
