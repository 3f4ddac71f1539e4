use std::fmt;

use oci_image::{ManifestError, Platform};

/// The most platforms, and the most media types, that are kept.
const KEPT_MAX: usize = 8;

/// The entries of an archive that were not loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Platforms of the images for other platforms, each once, at most 8.
    pub platforms: Vec<Platform>,
    /// Number of entries that describe an image, such as the attestations that BuildKit adds.
    pub attestations: u64,
    /// Number of other artifacts, such as a chart.
    pub artifacts: u64,
    /// Media types that tell the artifacts from images, each once, at most 8, shortened and escaped.
    pub media_types: Vec<String>,
}

impl Skipped {
    /// Returns true if everything was loaded.
    pub fn is_empty(&self) -> bool {
        self.platforms.is_empty() && self.attestations == 0 && self.artifacts == 0
    }

    /// Counts an entry that is not an image for the platform.
    pub(super) fn record(&mut self, error: &ManifestError) {
        match error {
            ManifestError::Platform { available, .. } => {
                for platform in available {
                    self.record_platform(platform);
                }
            }
            ManifestError::MediaType { media_type, .. } => {
                self.artifacts += 1;
                if !self.media_types.contains(media_type) && self.media_types.len() < KEPT_MAX {
                    self.media_types.push(media_type.clone());
                }
            }
            _ => {}
        }
    }

    /// Records the platform of an image for another one.
    pub(super) fn record_platform(&mut self, platform: &Platform) {
        if !self.platforms.contains(platform) && self.platforms.len() < KEPT_MAX {
            self.platforms.push(platform.clone());
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if !self.platforms.is_empty() {
            let names: Vec<String> = self.platforms.iter().map(Platform::to_string).collect();
            parts.push(format!("images for {}", names.join(", ")));
        }
        match self.attestations {
            0 => {}
            1 => parts.push("1 attestation".to_owned()),
            count => parts.push(format!("{count} attestations")),
        }
        let types = match &self.media_types[..] {
            [] => String::new(),
            types => format!(" ({})", types.join(", ")),
        };
        match self.artifacts {
            0 => {}
            1 => parts.push(format!("1 artifact that is not an image{types}")),
            count => parts.push(format!("{count} artifacts that are not images{types}")),
        }
        formatter.write_str(&parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_skipped_is_one_line() {
        let mut skipped = Skipped {
            attestations: 2,
            ..Skipped::default()
        };
        for _ in 0..2 {
            skipped.record(&ManifestError::MediaType {
                what: "config",
                media_type: "a/chart".to_owned(),
            });
        }
        for architecture in ["arm64", "s390x", "arm64"] {
            skipped.record_platform(&Platform::new("linux", architecture, None));
        }
        assert_eq!(
            skipped.to_string(),
            "images for linux/arm64, linux/s390x; 2 attestations; 2 artifacts that are not images (a/chart)"
        );
    }

    #[test]
    fn endlessly_many_entries_stay_a_short_line() {
        let mut skipped = Skipped::default();
        for number in 0..1000 {
            skipped.record_platform(&Platform::new("linux", &format!("cpu{number}"), None));
            skipped.record(&ManifestError::MediaType {
                what: "config",
                media_type: format!("a/{number}"),
            });
        }
        assert!(skipped.to_string().len() < 400, "{skipped}");
        assert_eq!(skipped.artifacts, 1000);
    }
}
