use std::collections::{BTreeMap, BTreeSet};

use oci_image::{
    ConfigFile, Descriptor, Digest, Document, Image, IndexEntry, Manifest, ManifestError, Platform,
    check_document, select,
};
use oci_layers::Limit;

use super::container::Container;
use super::error::ArchiveError;
use super::{Found, name};

const INDEX: &str = "index.json";
const MARKER: &str = "oci-layout";

/// Returns true if the container has an OCI layout.
pub(super) fn is_layout(container: &Container) -> bool {
    container.has(MARKER) && container.has(INDEX)
}

/// Returns the path of a blob in the layout.
pub(super) fn blob_path(digest: &Digest) -> String {
    format!("blobs/sha256/{}", digest.hex())
}

/// Returns every image of the layout, for the platform.
/// Entries that share a name, or have platforms and no name, are one image for several platforms.
pub(super) fn images(container: &Container, wanted: &Platform) -> Result<Vec<Found>, ArchiveError> {
    let bytes = container.read(INDEX)?;
    let manifest_error = |source| ArchiveError::Manifest {
        path: container.path.clone(),
        source,
    };
    let Document::Index(entries) = Document::parse(&bytes, None).map_err(manifest_error)? else {
        let problem = "layers where an index should be";
        return Err(manifest_error(ManifestError::Ambiguous { problem }));
    };
    let mut images: BTreeMap<Digest, Found> = BTreeMap::new();
    for (names, group) in groups(entries) {
        let entry = select(&group, wanted).map_err(manifest_error)?;
        let image = image(container, entry.descriptor, wanted)?;
        let found = images.entry(image.manifest_digest);
        let found = found.or_insert_with(|| Found {
            image,
            names: BTreeSet::new(),
            files: None,
        });
        found.names.extend(names);
    }
    Ok(images.into_values().collect())
}

type Group = (BTreeSet<String>, Vec<IndexEntry>);

fn groups(entries: Vec<IndexEntry>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    // The first group of each name, and true if every entry in it has a platform.
    let mut first: BTreeMap<BTreeSet<String>, (usize, bool)> = BTreeMap::new();
    for entry in entries {
        let names: BTreeSet<String> = name::from_annotations(&entry.annotations)
            .into_iter()
            .collect();
        let has_platform = entry.platform.is_some();
        let alone = names.is_empty() && !has_platform;
        match first.get_mut(&names) {
            Some((place, platforms)) if !alone && *platforms => {
                *platforms = has_platform;
                groups[*place].1.push(entry);
            }
            _ => {
                let new = (groups.len(), has_platform);
                first.entry(names.clone()).or_insert(new);
                groups.push((names, vec![entry]));
            }
        }
    }
    groups
}

/// Returns the image that a descriptor leads to, through nested indexes.
fn image(
    container: &Container,
    descriptor: Descriptor,
    wanted: &Platform,
) -> Result<Image, ArchiveError> {
    let manifest_error = |source| ArchiveError::Manifest {
        path: container.path.clone(),
        source,
    };
    let mut descriptor = descriptor;
    for _ in 0..=container.limits.get(Limit::ImageIndexes) {
        let bytes = document(container, "manifest", &descriptor)?;
        match Document::parse(&bytes, None).map_err(manifest_error)? {
            Document::Index(entries) => {
                descriptor = select(&entries, wanted).map_err(manifest_error)?.descriptor;
            }
            Document::Manifest(manifest) => {
                let config = config(container, &manifest)?;
                return Image::new(descriptor.digest, &manifest, config, wanted)
                    .map_err(manifest_error);
            }
        }
    }
    let exceeded = container.limits.exceeded(Limit::ImageIndexes);
    Err(manifest_error(exceeded.into()))
}

fn config(container: &Container, manifest: &Manifest) -> Result<ConfigFile, ArchiveError> {
    let bytes = document(container, "config", &manifest.config)?;
    ConfigFile::parse(&bytes).map_err(|source| ArchiveError::Manifest {
        path: container.path.clone(),
        source,
    })
}

fn document(
    container: &Container,
    what: &'static str,
    descriptor: &Descriptor,
) -> Result<Vec<u8>, ArchiveError> {
    let bytes = container.read(&blob_path(&descriptor.digest))?;
    check_document(what, &bytes, descriptor).map_err(|source| ArchiveError::Manifest {
        path: container.path.clone(),
        source,
    })?;
    Ok(bytes)
}
