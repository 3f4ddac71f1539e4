use std::collections::BTreeMap;

use oci_image::{
    ConfigFile, Descriptor, Digest, Document, Image, Manifest, ManifestError, Platform, Reference,
    check_document, media_type, select,
};
use oci_layers::{Exceeded, Limit};

use super::endpoint::{Endpoint, Fetched, Request};
use super::error::RegistryError;

/// An image, and the addresses of its layers outside of the registry, by digest.
pub(super) type FoundImage = (Image, BTreeMap<Digest, Vec<String>>);

impl Endpoint {
    /// Returns the image of `reference` for the platform, with checked documents.
    pub(super) async fn image(
        &self,
        reference: &Reference,
        wanted: &Platform,
    ) -> Result<FoundImage, RegistryError> {
        let (digest, manifest) = self.manifest(reference, wanted).await?;
        let config = self.config(&manifest.config).await?;
        let image = Image::new(digest, &manifest, config, wanted);
        Ok((
            image.map_err(|source| self.bad(source))?,
            manifest.elsewhere,
        ))
    }

    async fn manifest(
        &self,
        reference: &Reference,
        wanted: &Platform,
    ) -> Result<(Digest, Manifest), RegistryError> {
        let limit_bytes = self.transport.limits.document_bytes;
        let what = format!("image '{}'", reference.familiar());
        let version = reference.version();
        let mut fetched = self.document(&what, &version, limit_bytes).await?;
        let mut digest = Digest::compute(&fetched.bytes);
        if let Some(expected) = reference.digest() {
            let actual = expected.of_same_kind(&fetched.bytes);
            if actual != *expected {
                let expected = expected.clone();
                return Err(RegistryError::WrongManifest { expected, actual });
            }
        }
        let limit = self.transport.limits.index_depth;
        for _ in 0..=limit {
            let document = Document::parse(&fetched.bytes, fetched.content_type.as_deref());
            let entries = match document.map_err(|source| self.bad(source))? {
                Document::Manifest(manifest) => return Ok((digest, manifest)),
                Document::Index(entries) => entries,
            };
            let entry = select(&entries, wanted)
                .map_err(|source| self.bad(source))?
                .descriptor;
            self.check_size(&entry)?;
            digest = entry.digest;
            let version = digest.to_string();
            let what = format!("manifest {version}");
            fetched = self.document(&what, &version, entry.size_bytes).await?;
            check_document("manifest", &fetched.bytes, &entry)
                .map_err(|source| self.bad(source))?;
        }
        let value = u64::try_from(limit).unwrap_or(u64::MAX);
        Err(self.beyond(Limit::ImageIndexes, value))
    }

    /// Fetches the document of a tag or a digest, called `what` in messages.
    async fn document(
        &self,
        what: &str,
        version: &str,
        limit_bytes: u64,
    ) -> Result<Fetched, RegistryError> {
        let request = Request {
            path: format!("manifests/{version}"),
            what,
            accept: Some(media_type::ACCEPTED_MANIFESTS.join(", ")),
            from_byte: 0,
        };
        let fetched = self.fetch(&request, limit_bytes).await;
        let fetched = fetched.map_err(|error| match error {
            // A token may be too long as well, and a descriptor may state a smaller limit.
            RegistryError::Long { what: long, .. }
                if long == what && limit_bytes == self.transport.limits.document_bytes =>
            {
                self.beyond(Limit::ImageDocument, limit_bytes)
            }
            error => error,
        })?;
        let actual = Digest::compute(&fetched.bytes);
        match fetched.promised {
            Some(expected) if expected != actual => {
                Err(RegistryError::ContentDigest { expected, actual })
            }
            _ => Ok(fetched),
        }
    }

    async fn config(&self, descriptor: &Descriptor) -> Result<ConfigFile, RegistryError> {
        let what = format!("config {}", descriptor.digest);
        self.check_size(descriptor)?;
        let request = Request {
            path: format!("blobs/{}", descriptor.digest),
            what: &what,
            accept: None,
            from_byte: 0,
        };
        let bytes = self.fetch(&request, descriptor.size_bytes).await?.bytes;
        check_document("config", &bytes, descriptor)
            .and_then(|()| ConfigFile::parse(&bytes))
            .map_err(|source| self.bad(source))
    }

    fn check_size(&self, document: &Descriptor) -> Result<(), RegistryError> {
        let limit_bytes = self.transport.limits.document_bytes;
        if document.size_bytes > limit_bytes {
            return Err(self.beyond(Limit::ImageDocument, limit_bytes));
        }
        Ok(())
    }

    fn beyond(&self, limit: Limit, value: u64) -> RegistryError {
        self.bad(Exceeded { limit, value }.into())
    }

    fn bad(&self, source: ManifestError) -> RegistryError {
        RegistryError::Manifest {
            registry: self.host(),
            source,
        }
    }
}
