use std::collections::BTreeMap;

use oci_image::{
    ConfigFile, Descriptor, Digest, Document, Image, ManifestError, Platform, Reference,
    candidates, check_document, media_type,
};
use oci_layers::{Exceeded, Limit};

use super::endpoint::{Endpoint, Fetched, Request};
use super::error::RegistryError;
use super::requested_bytes::RequestedBytes;

/// An image, and the addresses of its layers outside of the registry, by digest.
pub(super) type FoundImage = (Image, BTreeMap<Digest, Vec<String>>);

/// The most documents that are fetched for one image. An index may list artifacts beside an image, which
/// only their manifests tell apart; 16 are a signature, a bill of materials and the like, many times.
const DOCUMENTS_MAX: usize = 16;

/// The search of an index for an image: the manifests still to fetch, the best last.
struct Search<'a> {
    wanted: &'a Platform,
    /// Descriptors with the number of indexes above each.
    pending: Vec<(Descriptor, usize)>,
    /// The first error of a document that is of something else.
    unsuitable: Option<ManifestError>,
}

impl Endpoint {
    /// Returns the image of `reference` for the platform, with checked documents. Entries of an index that
    /// are artifacts, or whose configs are for other platforms, are passed over.
    pub(super) async fn image(
        &self,
        reference: &Reference,
        wanted: &Platform,
    ) -> Result<FoundImage, RegistryError> {
        let (mut digest, mut fetched) = self.named(reference).await?;
        let mut depth = 0;
        let mut search = Search {
            wanted,
            pending: Vec::new(),
            unsuitable: None,
        };
        for _ in 0..DOCUMENTS_MAX {
            let examined = self.examine(digest, &fetched, depth, &mut search);
            match examined.await {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                Err(RegistryError::Manifest { source, .. }) if source.is_unsuitable() => {
                    search.unsuitable.get_or_insert(source);
                }
                Err(error) => return Err(error),
            }
            let Some((entry, entry_depth)) = search.pending.pop() else {
                break;
            };
            (digest, depth) = (entry.digest, entry_depth);
            fetched = self.entry(&entry).await?;
        }
        Err(
            self.bad(search.unsuitable.unwrap_or(ManifestError::Platform {
                wanted: wanted.clone(),
                available: Vec::new(),
            })),
        )
    }

    /// Returns the image of a manifest; `None` for an index, whose entries are then pending.
    async fn examine(
        &self,
        digest: Digest,
        fetched: &Fetched,
        depth: usize,
        search: &mut Search<'_>,
    ) -> Result<Option<FoundImage>, RegistryError> {
        let document = Document::parse(&fetched.bytes, fetched.content_type.as_deref());
        let manifest = match document.map_err(|source| self.bad(source))? {
            Document::Manifest(manifest) => manifest,
            Document::Index(entries) => {
                let limit = self.transport.limits.index_depth;
                if depth >= limit {
                    let value = u64::try_from(limit).unwrap_or(u64::MAX);
                    return Err(self.beyond(Limit::ImageIndexes, value));
                }
                let found =
                    candidates(&entries, search.wanted).map_err(|source| self.bad(source))?;
                let found = found.into_iter().take(DOCUMENTS_MAX).rev();
                search
                    .pending
                    .extend(found.map(|entry| (entry.descriptor, depth + 1)));
                return Ok(None);
            }
        };
        let config = self.config(&manifest.config).await?;
        let image = Image::new(digest, &manifest, config, search.wanted);
        let image = image.map_err(|source| self.bad(source))?;
        Ok(Some((image, manifest.elsewhere)))
    }

    /// Fetches the document that a reference names.
    async fn named(&self, reference: &Reference) -> Result<(Digest, Fetched), RegistryError> {
        let limit_bytes = self.transport.limits.document_bytes;
        let what = format!("image '{}'", reference.familiar());
        let version = reference.version();
        let fetched = self.document(&what, &version, limit_bytes).await?;
        let digest = Digest::compute(&fetched.bytes);
        if let Some(expected) = reference.digest() {
            let actual = expected.of_same_kind(&fetched.bytes);
            if actual != *expected {
                let expected = expected.clone();
                return Err(RegistryError::WrongManifest { expected, actual });
            }
        }
        Ok((digest, fetched))
    }

    /// Fetches and checks the document of an index's entry.
    async fn entry(&self, entry: &Descriptor) -> Result<Fetched, RegistryError> {
        self.check_size(entry)?;
        let version = entry.digest.to_string();
        let what = format!("manifest {version}");
        let fetched = self.document(&what, &version, entry.size_bytes).await?;
        check_document("manifest", &fetched.bytes, entry).map_err(|source| self.bad(source))?;
        Ok(fetched)
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
            bytes: RequestedBytes::All,
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
            bytes: RequestedBytes::All,
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
