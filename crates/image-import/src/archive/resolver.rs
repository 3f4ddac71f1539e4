use std::collections::{BTreeMap, BTreeSet};

use oci_image::{
    ConfigFile, Descriptor, Digest, Document, Image, IndexEntry, Manifest, ManifestError, Platform,
    candidates, check_document,
};
use oci_layers::Limit;

use super::container::Container;
use super::error::ArchiveError;
use super::skipped::Skipped;

/// Returns the path of a blob in a layout.
pub(super) fn blob_path(digest: &Digest) -> String {
    format!("blobs/sha256/{}", digest.hex())
}

/// The images that the entries of a layout's index lead to.
/// Each document is read once, so the work is bounded by the layout's length, whatever its indexes list.
pub(super) struct Resolver<'a> {
    container: &'a Container,
    wanted: &'a Platform,
    /// Digests of the entries of nested indexes.
    children: BTreeSet<Digest>,
    /// Images by the document that led to them; `None` if it leads to no image for the platform.
    resolved: BTreeMap<Digest, Option<Image>>,
    /// The first document that is not an image for the platform.
    first_unsuitable: Option<ManifestError>,
    /// Platforms of images for other platforms.
    platforms: Vec<Platform>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(container: &'a Container, wanted: &'a Platform) -> Self {
        Self {
            container,
            wanted,
            children: BTreeSet::new(),
            resolved: BTreeMap::new(),
            first_unsuitable: None,
            platforms: Vec::new(),
        }
    }

    /// Returns the error for a layout without an image for the platform; `None` if it has no entries.
    pub(super) fn into_unsuitable(self) -> Option<ManifestError> {
        if self.platforms.is_empty() {
            return self.first_unsuitable;
        }
        Some(ManifestError::Platform {
            wanted: self.wanted.clone(),
            available: self.platforms,
        })
    }

    /// Returns the images of a group of entries for the platform: one if the group has a name, and else
    /// each that serves the platform best.
    pub(super) fn resolve(
        &mut self,
        names: &BTreeSet<String>,
        mut group: Vec<IndexEntry>,
        skipped: &mut Skipped,
    ) -> Result<Vec<Image>, ArchiveError> {
        let is_named = !names.is_empty();
        if !is_named {
            group.retain(|entry| !self.children.contains(&entry.descriptor.digest));
        }
        let attestations = group.iter().filter(|entry| entry.is_attestation()).count();
        skipped.attestations += u64::try_from(attestations).unwrap_or(u64::MAX);
        if group.iter().all(IndexEntry::is_attestation) {
            if !group.is_empty() {
                self.note(&ManifestError::Platform {
                    wanted: self.wanted.clone(),
                    available: Vec::new(),
                });
            }
            return Ok(Vec::new());
        }
        if !is_named {
            self.skip_foreign(&group, skipped);
        }
        let found = match candidates(&group, self.wanted) {
            Ok(found) => found,
            Err(error) => {
                skipped.record(&error);
                self.note(&error);
                return Ok(Vec::new());
            }
        };
        let best = found.first().and_then(|entry| entry.platform.clone());
        let mut images = Vec::new();
        for entry in found {
            if !images.is_empty() && (is_named || entry.platform != best) {
                break;
            }
            match self.image(entry.descriptor, 0) {
                Ok(image) => images.push(image),
                Err(ArchiveError::Manifest { source, .. }) if source.is_unsuitable() => {
                    skipped.record(&source);
                    self.note(&source);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(images)
    }

    /// Records the entries without a name that state another platform.
    fn skip_foreign(&mut self, group: &[IndexEntry], skipped: &mut Skipped) {
        let images = group.iter().filter(|entry| !entry.is_attestation());
        let platforms = images.filter_map(|entry| entry.platform.as_ref());
        for platform in platforms.filter(|platform| !self.wanted.takes(platform)) {
            skipped.record_platform(platform);
        }
    }

    /// Keeps an error for the case that no image is found.
    fn note(&mut self, error: &ManifestError) {
        match error {
            ManifestError::Platform { available, .. } => {
                for platform in available {
                    if !self.platforms.contains(platform) && self.platforms.len() < 32 {
                        self.platforms.push(platform.clone());
                    }
                }
                if self.first_unsuitable.is_none() {
                    self.first_unsuitable = Some(ManifestError::Platform {
                        wanted: self.wanted.clone(),
                        available: Vec::new(),
                    });
                }
            }
            ManifestError::MediaType { what, media_type }
                if !matches!(self.first_unsuitable, Some(ManifestError::MediaType { .. })) =>
            {
                self.first_unsuitable = Some(ManifestError::MediaType {
                    what,
                    media_type: media_type.clone(),
                });
            }
            _ => {}
        }
    }

    /// Returns the image that a descriptor leads to, through nested indexes.
    fn image(&mut self, descriptor: Descriptor, depth: u64) -> Result<Image, ArchiveError> {
        if let Some(known) = self.resolved.get(&descriptor.digest) {
            return known.clone().ok_or_else(|| self.nothing());
        }
        let outcome = self.read_image(descriptor, depth);
        match &outcome {
            Ok(image) => {
                self.resolved.insert(descriptor.digest, Some(image.clone()));
            }
            Err(ArchiveError::Manifest { source, .. }) if source.is_unsuitable() => {
                self.resolved.insert(descriptor.digest, None);
            }
            Err(_) => {}
        }
        outcome
    }

    fn read_image(&mut self, descriptor: Descriptor, depth: u64) -> Result<Image, ArchiveError> {
        let limits = &self.container.limits;
        if depth > limits.get(Limit::ImageIndexes) {
            let exceeded = limits.exceeded(Limit::ImageIndexes);
            return Err(self.manifest_error(exceeded.into()));
        }
        let bytes = self.document("manifest", &descriptor)?;
        match Document::parse(&bytes, None).map_err(|source| self.manifest_error(source))? {
            Document::Manifest(manifest) => {
                let config = self.config(&manifest)?;
                Image::new(descriptor.digest, &manifest, config, self.wanted)
                    .map_err(|source| self.manifest_error(source))
            }
            Document::Index(entries) => {
                let digests = entries.iter().map(|entry| entry.descriptor.digest);
                self.children.extend(digests);
                self.best_child(&entries, depth)
            }
        }
    }

    /// Returns the best image among an index's entries.
    fn best_child(&mut self, entries: &[IndexEntry], depth: u64) -> Result<Image, ArchiveError> {
        let found =
            candidates(entries, self.wanted).map_err(|source| self.manifest_error(source))?;
        let mut first = None;
        for entry in found {
            match self.image(entry.descriptor, depth + 1) {
                Err(ArchiveError::Manifest { path, source }) if source.is_unsuitable() => {
                    first.get_or_insert(ArchiveError::Manifest { path, source });
                }
                outcome => return outcome,
            }
        }
        Err(first.unwrap_or_else(|| self.nothing()))
    }

    /// Returns the error for a document that is known to lead to no image.
    fn nothing(&self) -> ArchiveError {
        self.manifest_error(ManifestError::Platform {
            wanted: self.wanted.clone(),
            available: Vec::new(),
        })
    }

    fn config(&self, manifest: &Manifest) -> Result<ConfigFile, ArchiveError> {
        let bytes = self.document("config", &manifest.config)?;
        ConfigFile::parse(&bytes).map_err(|source| self.manifest_error(source))
    }

    fn document(
        &self,
        what: &'static str,
        descriptor: &Descriptor,
    ) -> Result<Vec<u8>, ArchiveError> {
        let bytes = self.container.read(&blob_path(&descriptor.digest))?;
        check_document(what, &bytes, descriptor).map_err(|source| self.manifest_error(source))?;
        Ok(bytes)
    }

    fn manifest_error(&self, source: ManifestError) -> ArchiveError {
        ArchiveError::Manifest {
            path: self.container.path.clone(),
            source,
        }
    }
}
