use super::client::{Fetched, Registry, Request};
use super::error::RegistryError;
use crate::digest::Digest;
use crate::image::{
    ConfigFile, DOCUMENT_MAX_BYTES, Descriptor, Document, INDEX_DEPTH_MAX, Image, Manifest,
    ManifestError, check_document, media_type, select,
};
use crate::platform::Platform;
use crate::reference::Reference;

impl Registry {
    /// The image of `reference` for the platform, its documents checked.
    pub(crate) async fn image(
        &self,
        reference: &Reference,
        wanted: &Platform,
    ) -> Result<Image, RegistryError> {
        let (digest, manifest) = self.manifest(reference, wanted).await?;
        let config = self.config(&manifest.config).await?;
        Image::new(digest, &manifest, config, wanted).map_err(|source| self.bad(source))
    }

    async fn manifest(
        &self,
        reference: &Reference,
        wanted: &Platform,
    ) -> Result<(Digest, Manifest), RegistryError> {
        let mut version = reference.version();
        let mut fetched = self.document(&version).await?;
        let mut digest = Digest::of(&fetched.bytes);
        if let Some(expected) = reference.digest() {
            let actual = expected.of_same_kind(&fetched.bytes);
            if actual != *expected {
                let (expected, actual) = (expected.clone(), actual);
                return Err(RegistryError::WrongManifest { expected, actual });
            }
        }
        for _ in 0..=INDEX_DEPTH_MAX {
            let document = Document::parse(&fetched.bytes, fetched.content_type.as_deref());
            let entries = match document.map_err(|source| self.bad(source))? {
                Document::Manifest(manifest) => return Ok((digest, manifest)),
                Document::Index(entries) => entries,
            };
            let entry = select(&entries, wanted)
                .map_err(|source| self.bad(source))?
                .descriptor;
            digest = entry.digest;
            version = digest.to_string();
            fetched = self.document(&version).await?;
            check_document("manifest", &fetched.bytes, &entry)
                .map_err(|source| self.bad(source))?;
        }
        Err(self.bad(ManifestError::TooDeep))
    }

    async fn document(&self, version: &str) -> Result<Fetched, RegistryError> {
        let what = format!("manifest {version}");
        let request = Request {
            path: format!("manifests/{version}"),
            what: &what,
            accept: Some(media_type::ACCEPTED_MANIFESTS.join(", ")),
            from_byte: 0,
        };
        let fetched = self.fetch(&request, DOCUMENT_MAX_BYTES).await?;
        let actual = Digest::of(&fetched.bytes);
        match fetched.promised {
            Some(expected) if expected != actual => {
                Err(RegistryError::ContentDigest { expected, actual })
            }
            _ => Ok(fetched),
        }
    }

    async fn config(&self, descriptor: &Descriptor) -> Result<ConfigFile, RegistryError> {
        let what = format!("config {}", descriptor.digest);
        if descriptor.size_bytes > DOCUMENT_MAX_BYTES {
            return Err(self.bad(ManifestError::TooLong { what: "config" }));
        }
        let path = format!("blobs/{}", descriptor.digest);
        let request = Request {
            path,
            what: &what,
            accept: None,
            from_byte: 0,
        };
        let bytes = self.fetch(&request, descriptor.size_bytes).await?.bytes;
        check_document("config", &bytes, descriptor)
            .and_then(|()| ConfigFile::parse(&bytes))
            .map_err(|source| self.bad(source))
    }

    fn bad(&self, source: ManifestError) -> RegistryError {
        RegistryError::Manifest {
            registry: self.host.clone(),
            source,
        }
    }
}
