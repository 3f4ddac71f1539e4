use std::fmt;

/// Version of the form of the images. Another one gives all images other keys.
const FORMAT: u32 = 2;

/// The digest of all names and stamps of directories that are staged together. Listings with one key have the
/// same files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(pub(crate) [u8; 32]);

impl Key {
    /// Returns the UUID of the image.
    pub(crate) fn uuid(&self) -> [u8; 16] {
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&self.0[..16]);
        uuid
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// Returns a digest that listings of this form begin with.
pub(crate) fn digest() -> blake3::Hasher {
    let mut digest = blake3::Hasher::new();
    digest.update(&FORMAT.to_le_bytes());
    digest
}
