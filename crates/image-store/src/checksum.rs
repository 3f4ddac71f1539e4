use std::fmt;
use std::io::{self, Read as _};
use std::path::Path;
use std::str::FromStr;

use blake3::Hasher;
use blake3::hazmat::{
    ChainingValue, HasherExt as _, Mode, merge_subtrees_non_root, merge_subtrees_root,
};
use fs_err as fs;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Length of a file's head, in bytes: one block.
pub const HEAD_BYTES: usize = 4096;
/// Size of the buffer for reading a file, in bytes.
const BUFFER_BYTES: usize = 256 * 1024;

/// The checksum of an artifact's content: its BLAKE3 hash, as `b3sum` prints it, written as
/// `blake3:` and 64 lower-case hexadecimal digits.
///
/// With the processor's vector instructions it takes a third of the time of SHA-256. Because it is
/// a tree hash, the first block of a file can come last, as that of an EROFS image does.
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
        let mut file = fs::File::open(path)?;
        let mut hasher = Hasher::new();
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok((Self(hasher.finalize()), hasher.count())),
                Ok(count) => _ = hasher.update(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
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

/// Checksum of a file that is being written, whose head comes after everything behind it.
///
/// The hash is a binary tree over the file, and each left subtree holds a power of two of bytes
/// (BLAKE3 specification, 2.4). So the head is the leftmost subtree. The subtrees to its right are
/// one, two, four and more heads long, and each begins at an offset equal to its length.
pub struct HeadLast {
    /// Finished subtrees, in order.
    neighbours: Vec<ChainingValue>,
    /// The next subtree, its offset, and the number of bytes that it has so far.
    neighbour: Hasher,
    start_bytes: usize,
    filled_bytes: usize,
}

impl Default for HeadLast {
    fn default() -> Self {
        Self::new()
    }
}

impl HeadLast {
    /// Returns the state before the first byte behind the head.
    pub fn new() -> Self {
        Self {
            neighbours: Vec::new(),
            neighbour: neighbour_at(HEAD_BYTES),
            start_bytes: HEAD_BYTES,
            filled_bytes: 0,
        }
    }

    /// Adds the next bytes behind the head.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.filled_bytes == self.start_bytes {
                self.neighbours.push(self.neighbour.finalize_non_root());
                self.start_bytes *= 2;
                self.neighbour = neighbour_at(self.start_bytes);
                self.filled_bytes = 0;
            }
            let count = bytes.len().min(self.start_bytes - self.filled_bytes);
            let (now, later) = bytes.split_at(count);
            self.neighbour.update(now);
            self.filled_bytes += count;
            bytes = later;
        }
    }

    /// Adds the head and returns the checksum.
    pub fn finish(self, head: &[u8; HEAD_BYTES]) -> Checksum {
        if self.filled_bytes == 0 {
            return Checksum::compute(head);
        }
        let head = Hasher::new().update(head).finalize_non_root();
        let left = self.neighbours.iter().fold(head, |left, right| {
            merge_subtrees_non_root(&left, right, Mode::Hash)
        });
        let right = self.neighbour.finalize_non_root();
        Checksum(merge_subtrees_root(&left, &right, Mode::Hash))
    }
}

fn neighbour_at(start_bytes: usize) -> Hasher {
    let mut hasher = Hasher::new();
    // The crate counts in 64 bits; no file has more than 2^63 bytes.
    hasher.set_input_offset(u64::try_from(start_bytes).unwrap_or(u64::MAX));
    hasher
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_that_comes_last_changes_nothing() {
        let bytes: Vec<u8> = (0..70_001_u32).flat_map(u32::to_le_bytes).collect();
        let around = |edge: usize| [edge - 1, edge, edge + 1];
        let lengths = [1, 2, 4, 8, 16, 32, 64].map(|blocks| around(blocks * HEAD_BYTES));
        for length in lengths.into_iter().flatten().chain([bytes.len()]) {
            let Some((head, tail)) = bytes[..length].split_first_chunk() else {
                continue;
            };
            for piece in [1000, HEAD_BYTES, 65_536, bytes.len()] {
                let mut hasher = HeadLast::new();
                tail.chunks(piece).for_each(|piece| hasher.update(piece));
                assert_eq!(hasher.finish(head), Checksum::compute(&bytes[..length]));
            }
        }
    }

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
