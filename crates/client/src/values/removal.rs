use crate::Error;

/// The outcome of one of several removals.
#[derive(Debug)]
#[non_exhaustive]
pub struct Removal {
    /// The name of the object.
    pub name: String,
    /// The space that was freed on the host, in bytes.
    pub freed_bytes: Result<u64, Error>,
}

impl Removal {
    /// Returns the removal of a thing, and the bytes that it freed.
    pub const fn new(name: String, freed_bytes: Result<u64, Error>) -> Self {
        Self { name, freed_bytes }
    }
}
