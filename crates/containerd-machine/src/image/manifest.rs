//! The manifest of a snapshot: of an image's documents, the one whose layers the snapshot begins with.

use containerd_protocol::services::Descriptor as Target;
use oci_image::{
    ConfigFile, Descriptor, Document, Manifest, ManifestError, Platform, candidates, check_document,
};

use super::ImageError;
use super::chain::chain_id;
use crate::engine::Engine;

/// The most bytes of a manifest, an index or a config: what registries accept.
const DOCUMENT_MAX_BYTES: u64 = 4 << 20;
/// The most documents that are read to find a manifest.
const DOCUMENTS_MAX: usize = 64;

/// An image's manifest and its blobs.
pub(super) struct Found {
    pub(super) manifest: Descriptor,
    pub(super) document: Manifest,
    pub(super) config: ConfigFile,
}

/// An image, and the layers that are looked for.
pub(super) struct Search<'a> {
    /// The name of the image, for errors.
    pub(super) name: &'a str,
    /// The chain ID of the layers.
    pub(super) chain: &'a str,
}

impl Search<'_> {
    /// Finds the manifest with these layers in the document that the image's name stands for.
    pub(super) async fn find(
        &self,
        engine: &mut Engine,
        target: &Target,
    ) -> Result<Found, ImageError> {
        let target = Descriptor {
            digest: target.digest.parse()?,
            size_bytes: u64::try_from(target.size).unwrap_or(u64::MAX),
        };
        // The next document is the last one.
        let mut pending = vec![target];
        for _ in 0..DOCUMENTS_MAX {
            let Some(descriptor) = pending.pop() else {
                break;
            };
            let bytes = match read(engine, &descriptor).await {
                // An index lists images of other platforms, which nobody has fetched.
                Err(ImageError::Engine(error)) if error.is_not_found() => continue,
                read => read?,
            };
            self.check("manifest", &bytes, &descriptor)?;
            match Document::parse(&bytes, None).map_err(|source| self.invalid(source))? {
                Document::Index(entries) => {
                    let wanted = candidates(&entries, &Platform::host());
                    let wanted = wanted.map_err(|source| self.invalid(source))?;
                    pending.extend(wanted.iter().rev().map(|entry| entry.descriptor));
                }
                Document::Manifest(manifest) => {
                    if let Some(config) = self.config(engine, &manifest).await? {
                        return Ok(Found {
                            manifest: descriptor,
                            document: manifest,
                            config,
                        });
                    }
                }
            }
        }
        Err(ImageError::Moved {
            name: self.name.to_owned(),
            chain: self.chain.to_owned(),
        })
    }

    /// Returns the config of a manifest; `None` if it has other layers.
    async fn config(
        &self,
        engine: &mut Engine,
        manifest: &Manifest,
    ) -> Result<Option<ConfigFile>, ImageError> {
        let bytes = match read(engine, &manifest.config).await {
            Err(ImageError::Engine(error)) if error.is_not_found() => return Ok(None),
            read => read?,
        };
        self.check("image config", &bytes, &manifest.config)?;
        let config = ConfigFile::parse(&bytes).map_err(|source| self.invalid(source))?;
        Ok((chain_id(&config.diff_ids) == self.chain).then_some(config))
    }

    fn check(
        &self,
        what: &'static str,
        bytes: &[u8],
        descriptor: &Descriptor,
    ) -> Result<(), ImageError> {
        check_document(what, bytes, descriptor).map_err(|source| self.invalid(source))
    }

    fn invalid(&self, source: ManifestError) -> ImageError {
        ImageError::Document {
            name: self.name.to_owned(),
            source,
        }
    }
}

/// Reads a document.
async fn read(engine: &mut Engine, descriptor: &Descriptor) -> Result<Vec<u8>, ImageError> {
    let digest = descriptor.digest.to_string();
    let bytes = descriptor.size_bytes;
    if bytes > DOCUMENT_MAX_BYTES {
        let limit_bytes = DOCUMENT_MAX_BYTES;
        return Err(ImageError::TooLong {
            digest,
            bytes,
            limit_bytes,
        });
    }
    let mut blob = engine.blob(&digest).await?;
    let mut document = Vec::new();
    while let Some(part) = blob.next().await? {
        document.extend_from_slice(&part);
        if u64::try_from(document.len()).unwrap_or(u64::MAX) > bytes {
            return Err(ImageError::Length {
                digest,
                expected_bytes: bytes,
            });
        }
    }
    Ok(document)
}
