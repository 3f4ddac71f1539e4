use std::fmt;
use std::io::{self, Read as _};
use std::path::Path;
use std::str::FromStr;

use blake3::Hasher;
use fs_err as fs;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Size of the buffer for reading a file, in bytes.
const BUFFER_BYTES: usize = 256 * 1024;

/// The checksum of an artifact's content: its BLAKE3 hash, as `b3sum` prints it, written as
/// `blake3:` and 64 lower-case hexadecimal digits.
///
/// With the processor's vector instructions it takes a third of the time of SHA-256. Because it is
/// a tree hash, parts of an artifact can be proved by its [tree](crate::tree).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Checksum(blake3::Hash);

/// An error for a text that is not `blake3:` and 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not blake3: and 64 lower-case hexadecimal digits")]
pub struct InvalidChecksum;

impl Checksum {
    /// Returns the 32 bytes of the checksum.
    pub const fn to_bytes(self) -> [u8; 32] {
        *self.0.as_bytes()
    }

    /// Returns the checksum that is these 32 bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(blake3::Hash::from_bytes(bytes))
    }

    /// Returns the checksum of `bytes`.
    pub fn compute(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes))
    }

    /// Returns the checksum of the bytes that a hasher was given.
    pub(crate) fn of_hasher(hasher: &Hasher) -> Self {
        Self(hasher.finalize())
    }

    /// Returns the checksum of a file, and the file's length in bytes.
    pub fn compute_file(path: &Path) -> io::Result<(Self, u64)> {
        let mut hasher = Hasher::new();
        for_each_piece(path, |piece| {
            hasher.update(piece);
            Ok(())
        })?;
        Ok((Self(hasher.finalize()), hasher.count()))
    }
}

/// Reads a file, and calls `take` with each piece of it in order.
pub(crate) fn for_each_piece(
    path: &Path,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = fs::File::open(path)?;
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => take(&buffer[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "blake3:{}", self.0)
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Checksum {
    type Err = InvalidChecksum;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("blake3:").ok_or(InvalidChecksum)?;
        if digits.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(InvalidChecksum);
        }
        let hash = blake3::Hash::from_hex(digits).map_err(|_| InvalidChecksum)?;
        Ok(Self(hash))
    }
}

impl Serialize for Checksum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Checksum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_what_b3sum_prints() {
        let empty = "blake3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
        assert_eq!(empty.parse(), Ok(Checksum::compute(b"")));
        assert_eq!(Checksum::compute(b"").to_string(), empty);
        for bad in [
            "",
            "blake3:",
            &empty[7..],
            &empty.to_uppercase(),
            &empty[..70],
        ] {
            assert_eq!(bad.parse::<Checksum>(), Err(InvalidChecksum), "{bad}");
        }
        let upper = format!("blake3:{}", empty[7..].to_uppercase());
        assert_eq!(upper.parse::<Checksum>(), Err(InvalidChecksum));
    }
}
