use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

use crate::excerpt::excerpt;

/// Number of hexadecimal digits of a SHA-256 digest.
pub const HEX_DIGITS: usize = 64;

/// A SHA-256 digest, written as `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// An error for a text that is not a digest that msb accepts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDigest {
    /// The algorithm is not SHA-256.
    #[error("digest algorithm '{algorithm}' is not supported, only sha256 is")]
    Algorithm {
        /// Name of the algorithm, shortened and escaped.
        algorithm: String,
    },
    /// The text is not `sha256:` and 64 lower-case hexadecimal digits.
    #[error("'{text}' is not sha256: and 64 lower-case hexadecimal digits")]
    Format {
        /// The text, shortened and escaped.
        text: String,
    },
}

impl Digest {
    /// Returns the digest of `bytes`.
    pub fn compute(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the 64 hexadecimal digits alone.
    pub fn hex(&self) -> String {
        let mut digits = vec![0; HEX_DIGITS];
        hex::encode_to_slice(self.0, &mut digits).expect("two digits a byte");
        String::from_utf8(digits).expect("digits are ASCII")
    }

    /// Returns the digest as 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the digest with these digits; `None` unless they are 64 lower-case hexadecimal
    /// digits.
    pub fn from_hex(digits: &str) -> Option<Self> {
        let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if digits.len() != HEX_DIGITS || !digits.bytes().all(lower) {
            return None;
        }
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits, &mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// Returns a UUID for the digested content: the first 16 bytes of the digest of this digest's
    /// text.
    pub fn uuid(&self) -> [u8; 16] {
        let Self(bytes) = Self::compute(self.to_string().as_bytes());
        *bytes.first_chunk().expect("a digest has 32 bytes")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = || InvalidDigest::Format {
            text: excerpt(text),
        };
        let (algorithm, digits) = text.split_once(':').ok_or_else(malformed)?;
        if algorithm != "sha256" {
            return Err(InvalidDigest::Algorithm {
                algorithm: excerpt(algorithm),
            });
        }
        Self::from_hex(digits).ok_or_else(malformed)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

/// State of a digest that is being computed.
#[derive(Clone, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of all bytes.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_strict_sha256_is_taken() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(empty.parse(), Ok(Digest::compute(b"")));
        assert_eq!(Digest::compute(b"").to_string(), empty);
        let long = format!("sha256:{}", "a".repeat(100_000));
        let bad = [
            "",
            "sha256:",
            &empty.to_uppercase(),
            &empty[7..],
            "sha256:../../x",
            &long,
        ];
        for text in bad {
            let error = text.parse::<Digest>().expect_err(text).to_string();
            assert!(error.len() < 250, "{error}");
        }
        assert!(matches!(
            "md5:00".parse::<Digest>(),
            Err(InvalidDigest::Algorithm { .. })
        ));
    }
}
