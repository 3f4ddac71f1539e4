use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256, Sha384, Sha512};

use crate::digest::InvalidDigest;
use crate::excerpt::excerpt;

/// A digest at the end of a name: SHA-256, SHA-384 or SHA-512, in lower-case hexadecimal digits.
///
/// Images refer to their parts by SHA-256 alone, and the store identifies them by it. The other two
/// algorithms only select a manifest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManifestDigest {
    algorithm: Algorithm,
    digits: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Algorithm {
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }

    const fn digits(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha384 => 96,
            Self::Sha512 => 128,
        }
    }
}

impl ManifestDigest {
    /// Returns the digest of `bytes` with the same algorithm.
    pub fn of_same_kind(&self, bytes: &[u8]) -> Self {
        let algorithm = self.algorithm;
        let digits = match algorithm {
            Algorithm::Sha256 => hex::encode(Sha256::digest(bytes)),
            Algorithm::Sha384 => hex::encode(Sha384::digest(bytes)),
            Algorithm::Sha512 => hex::encode(Sha512::digest(bytes)),
        };
        Self { algorithm, digits }
    }
}

impl fmt::Display for ManifestDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.algorithm.name(), self.digits)
    }
}

impl FromStr for ManifestDigest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = || InvalidDigest::Format {
            text: excerpt(text),
        };
        let (algorithm, digits) = text.split_once(':').ok_or_else(malformed)?;
        let algorithm = match algorithm {
            "sha256" => Algorithm::Sha256,
            "sha384" => Algorithm::Sha384,
            "sha512" => Algorithm::Sha512,
            other => {
                return Err(InvalidDigest::Algorithm {
                    algorithm: excerpt(other),
                });
            }
        };
        let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if digits.len() != algorithm.digits() || !digits.bytes().all(lower) {
            return Err(malformed());
        }
        Ok(Self {
            algorithm,
            digits: digits.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_compared_with_its_own_algorithm() {
        for (name, empty) in [
            (
                "sha256",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                "sha512",
                "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce\
                 47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
            ),
        ] {
            let digest: ManifestDigest = format!("{name}:{empty}").parse().expect(name);
            assert_eq!(digest.of_same_kind(b""), digest);
            assert_ne!(digest.of_same_kind(b"x"), digest);
        }
        assert!("sha512:00".parse::<ManifestDigest>().is_err());
    }
}
