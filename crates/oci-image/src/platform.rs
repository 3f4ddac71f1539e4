use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::excerpt::excerpt;

/// Platform that an image runs on: operating system, architecture and variant, by Go's names.
///
/// Platforms have a normal form: `x86_64` is `amd64`, `aarch64` is `arm64`, and a variant that
/// every machine of the architecture has (`amd64/v1`, `arm64/v8`) is omitted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Platform {
    /// Operating system, such as `linux`.
    pub os: String,
    /// Architecture, such as `amd64` or `arm64`.
    pub architecture: String,
    /// Variant of the architecture, such as `v7`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

/// An error for a text that is not `OS/ARCHITECTURE[/VARIANT]`, `OS` or `ARCHITECTURE`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a platform: write one such as linux/amd64 or linux/arm/v7")]
pub struct InvalidPlatform {
    text: String,
}

impl Platform {
    /// Creates a platform of these parts, in normal form.
    pub fn new(os: &str, architecture: &str, variant: Option<&str>) -> Self {
        let architecture = match architecture {
            "x86_64" | "x86-64" => "amd64",
            "aarch64" => "arm64",
            "x86" | "i386" => "386",
            other => other,
        };
        let variant = variant.filter(|variant| {
            let plain = [("amd64", "v1"), ("arm64", "v8"), ("arm64", "8")];
            !variant.is_empty() && !plain.contains(&(architecture, variant))
        });
        Self {
            os: os.to_owned(),
            architecture: architecture.to_owned(),
            variant: variant.map(str::to_owned),
        }
    }

    /// Returns Linux on this host's processor, the platform of its sandboxes.
    pub fn host() -> Self {
        Self::new("linux", std::env::consts::ARCH, None)
    }

    /// Returns true if an image for `offered` runs on this platform: it is for the same one, or for an older
    /// variant that its processors run too.
    pub fn takes(&self, offered: &Self) -> bool {
        self.rank(offered).is_some()
    }

    /// Ranks an image for `offered` on this platform; lower is better. Returns `None` if the image
    /// cannot run. A 32-bit ARM processor runs images for older ones.
    pub fn rank(&self, offered: &Self) -> Option<u32> {
        if self.os != offered.os || self.architecture != offered.architecture {
            return None;
        }
        if self.variant == offered.variant {
            return Some(0);
        }
        let level = |variant: &Option<String>| -> Option<u32> {
            let variant = variant.as_deref().unwrap_or(if self.architecture == "arm" {
                "v7"
            } else {
                "v0"
            });
            variant.strip_prefix('v')?.parse().ok()
        };
        let (own, other) = (level(&self.variant)?, level(&offered.variant)?);
        own.checked_sub(other)
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}/{}",
            excerpt(&self.os),
            excerpt(&self.architecture)
        )?;
        match &self.variant {
            Some(variant) => write!(formatter, "/{}", excerpt(variant)),
            None => Ok(()),
        }
    }
}

impl FromStr for Platform {
    type Err = InvalidPlatform;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split('/').collect();
        let word = |part: &&str| {
            !part.is_empty()
                && part.len() <= 32
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        };
        if !parts.iter().all(word) {
            return Err(InvalidPlatform {
                text: excerpt(text),
            });
        }
        match parts[..] {
            ["linux"] => Ok(Self::host()),
            [architecture] => Ok(Self::new("linux", architecture, None)),
            [os, architecture] => Ok(Self::new(os, architecture, None)),
            [os, architecture, variant] => Ok(Self::new(os, architecture, Some(variant))),
            _ => Err(InvalidPlatform {
                text: excerpt(text),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform(text: &str) -> Platform {
        text.parse().expect(text)
    }

    #[test]
    fn ranks_follow_what_a_processor_runs() {
        for (wanted, offered, rank) in [
            ("linux/amd64", "linux/x86_64", Some(0)),
            ("linux/arm64", "linux/arm64/v8", Some(0)),
            ("linux/amd64", "linux/amd64/v3", None),
            ("linux/amd64/v3", "linux/amd64", Some(3)),
            ("linux/arm/v7", "linux/arm/v6", Some(1)),
            ("linux/arm/v6", "linux/arm/v7", None),
            ("linux/arm", "linux/arm/v5", Some(2)),
            ("linux/amd64", "windows/amd64", None),
            ("linux/amd64", "linux/arm64", None),
        ] {
            assert_eq!(
                platform(wanted).rank(&platform(offered)),
                rank,
                "{wanted} {offered}"
            );
        }
    }

    #[test]
    fn platforms_are_parsed_in_full_and_in_short() {
        assert_eq!(platform("arm64").to_string(), "linux/arm64");
        assert_eq!(platform("linux/arm/v7").to_string(), "linux/arm/v7");
        for text in ["", "/", "a/b/c/d", "linux/\u{1b}"] {
            assert!(text.parse::<Platform>().is_err(), "{text}");
        }
    }
}
