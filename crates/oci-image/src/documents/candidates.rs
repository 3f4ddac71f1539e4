use super::manifest::{IndexEntry, ManifestError};
use crate::platform::Platform;

/// The annotation by which BuildKit marks an entry that describes another one: `attestation-manifest`.
const REFERENCE_TYPE: &str = "vnd.docker.reference.type";
/// Operating system and architecture of an entry that nothing runs.
const UNKNOWN: &str = "unknown";
/// The most platforms that an error lists.
const LISTED_MAX: usize = 32;

impl IndexEntry {
    /// Returns true if the entry describes another one, such as the attestations that BuildKit adds, and
    /// is no image.
    pub fn is_attestation(&self) -> bool {
        let is_unknown = |platform: &Platform| platform.os == UNKNOWN;
        self.annotations.contains_key(REFERENCE_TYPE)
            || self.platform.as_ref().is_some_and(is_unknown)
    }
}

/// Returns the entries of an index that may serve `wanted`, the best first. Entries without a platform
/// come last, because only their config states it.
///
/// # Errors
/// If no entry may serve it.
pub fn candidates<'a>(
    entries: &'a [IndexEntry],
    wanted: &Platform,
) -> Result<Vec<&'a IndexEntry>, ManifestError> {
    let rank = |entry: &IndexEntry| match &entry.platform {
        _ if entry.is_attestation() => None,
        Some(platform) => wanted.rank(platform),
        None => Some(u32::MAX),
    };
    let mut ranked: Vec<_> = entries
        .iter()
        .filter_map(|entry| Some((rank(entry)?, entry)))
        .collect();
    if ranked.is_empty() {
        return Err(ManifestError::Platform {
            wanted: wanted.clone(),
            available: platforms(entries),
        });
    }
    ranked.sort_by_key(|&(rank, _)| rank);
    Ok(ranked.into_iter().map(|(_, entry)| entry).collect())
}

/// Returns the platforms of the images, each once.
fn platforms(entries: &[IndexEntry]) -> Vec<Platform> {
    let mut platforms: Vec<Platform> = Vec::new();
    let images = entries.iter().filter(|entry| !entry.is_attestation());
    for platform in images.filter_map(|entry| entry.platform.as_ref()) {
        if !platforms.contains(platform) && platforms.len() < LISTED_MAX {
            platforms.push(platform.clone());
        }
    }
    platforms
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::manifest::Descriptor;
    use super::*;
    use crate::Digest;

    fn entry(platform: Option<&str>) -> IndexEntry {
        IndexEntry {
            descriptor: Descriptor {
                digest: Digest::compute(b""),
                size_bytes: 1,
            },
            platform: platform.map(|text| text.parse().expect("a platform")),
            annotations: BTreeMap::new(),
        }
    }

    #[test]
    fn the_best_platform_comes_first_or_all_are_named() {
        let wanted: Platform = "linux/arm/v7".parse().expect("a platform");
        let entries =
            ["linux/arm64", "linux/arm/v5", "linux/arm/v6"].map(|platform| entry(Some(platform)));
        let found = candidates(&entries, &wanted).expect("two serve");
        let variants: Vec<_> = found
            .iter()
            .map(|entry| entry.platform.as_ref().and_then(|p| p.variant.as_deref()))
            .collect();
        assert_eq!(variants, [Some("v6"), Some("v5")]);
        let error = candidates(&entries[..1], &wanted)
            .expect_err("none serves")
            .to_string();
        assert_eq!(
            error,
            "no image for platform linux/arm/v7: it exists for linux/arm64"
        );
        let silent = [
            entry(None),
            entry(Some("linux/arm64")),
            entry(Some("linux/arm")),
        ];
        let found = candidates(&silent, &wanted).expect("two may serve");
        assert_eq!(found.len(), 2);
        assert!(found[1].platform.is_none());
    }

    #[test]
    fn attestations_are_no_images() {
        let mut marked = entry(None);
        let reference = (REFERENCE_TYPE.to_owned(), "attestation-manifest".to_owned());
        marked.annotations.extend([reference]);
        let unknown = entry(Some("unknown/unknown"));
        assert!(marked.is_attestation() && unknown.is_attestation());
        let error = candidates(&[marked, unknown], &Platform::host()).expect_err("no image");
        assert!(
            error.to_string().ends_with("the index has no images"),
            "{error}"
        );
        assert!(error.is_unsuitable());
    }
}
