//! Data of a registry or an archive before any layer: documents, names, digests, challenges.

/// Parses `bytes` as each kind of document.
///
/// # Panics
/// If an accepted value is written as text, and that text is read as another value.
pub fn run(bytes: &[u8]) {
    image_import::fuzzing::documents(bytes);
}
