use std::collections::{BTreeMap, BTreeSet};

use oci_image::{Digest, Document, IndexEntry, ManifestError, Platform};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::choice::Choice;
use super::container::Container;
use super::error::ArchiveError;
use super::resolver::Resolver;
use super::skipped::Skipped;
use super::{Found, name};

const INDEX: &str = "index.json";
const MARKER: &str = "oci-layout";

/// Returns true if the container has an OCI layout.
pub(super) fn is_layout(container: &Container) -> bool {
    container.has(MARKER) && container.has(INDEX)
}

/// Returns the images of the layout for the platform, and what was passed over.
/// Entries that share a name are one image for several platforms. Entries without a name that a named
/// index lists as well are its children, once more.
pub(super) fn images(
    container: &Container,
    wanted: &Platform,
    choice: Option<&Choice>,
) -> Result<(Vec<Found>, Skipped), ArchiveError> {
    let bytes = container.read(INDEX)?;
    let manifest_error = |source| ArchiveError::Manifest {
        path: container.path.clone(),
        source,
    };
    let Document::Index(entries) = Document::parse(&bytes, None).map_err(manifest_error)? else {
        let problem = "layers where an index should be";
        return Err(manifest_error(ManifestError::Ambiguous { problem }));
    };
    let mut skipped = Skipped {
        artifacts: other_entries(&bytes, entries.len()),
        ..Skipped::default()
    };
    let entries = match choice {
        None => entries,
        Some(choice) => {
            let names = names(&entries);
            skipped = Skipped::default();
            let chosen = choice.entries(entries);
            if chosen.is_empty() {
                return Err(container.not_chosen(choice, names));
            }
            chosen
        }
    };
    let mut resolver = Resolver::new(container, wanted);
    let mut images: BTreeMap<Digest, Found> = BTreeMap::new();
    for (names, group) in groups(entries) {
        for image in resolver.resolve(&names, group, &mut skipped)? {
            let found = images.entry(image.manifest_digest);
            let found = found.or_insert_with(|| Found {
                image,
                names: BTreeSet::new(),
                files: None,
            });
            found.names.extend(names.iter().cloned());
        }
    }
    match resolver.into_unsuitable() {
        Some(error) if images.is_empty() => Err(manifest_error(error)),
        _ => Ok((images.into_values().collect(), skipped)),
    }
}

/// Returns the number of the index's entries that are neither manifests nor indexes.
fn other_entries(index: &[u8], known: usize) -> u64 {
    #[derive(Deserialize)]
    struct Listed {
        manifests: Vec<IgnoredAny>,
    }
    let listed =
        serde_json::from_slice::<Listed>(index).map_or(known, |index| index.manifests.len());
    u64::try_from(listed.saturating_sub(known)).unwrap_or(u64::MAX)
}

/// Returns the names and tags of the entries, each once.
fn names(entries: &[IndexEntry]) -> BTreeSet<String> {
    let stated = entries
        .iter()
        .flat_map(|entry| name::stated(&entry.annotations));
    stated.map(str::to_owned).collect()
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
    // A named index tells which entries without a name are its children.
    groups.sort_by_key(|(names, _)| names.is_empty());
    groups
}
