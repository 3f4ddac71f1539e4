use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The bundle that a sandbox was given, by its length and its digest: the guest may have put another file in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenBundle {
    /// The length, in bytes.
    pub size_bytes: u64,
    /// The SHA-256 of the content, in hexadecimal digits.
    sha256: String,
}

impl GivenBundle {
    /// Returns the bundle with this content.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        Self {
            size_bytes: u64::try_from(content.len()).unwrap_or(u64::MAX),
            sha256: hex::encode(Sha256::digest(content)),
        }
    }

    /// Returns true if the bundle has this content.
    #[must_use]
    pub fn has(&self, content: &[u8]) -> bool {
        *self == Self::of(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_has_its_own_content_alone() {
        let bundle = GivenBundle::of(b"certificates");
        assert_eq!(bundle.size_bytes, 12);
        assert!(bundle.has(b"certificates"));
        assert!(!bundle.has(b"Certificates") && !bundle.has(b""));
    }
}
