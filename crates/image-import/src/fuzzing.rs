//! Parsers of untrusted bytes, for the fuzz targets alone.

use std::io::{self, BufReader, Read};

use oci_image::{ConfigFile, Digest, Document, Platform, Reference, candidates};
use oci_layers::Limits;

use crate::pipeline;

/// Returns the content of a layer's blob, decompressed as in the pipeline.
///
/// # Errors
/// If the blob cannot be read or msb does not support its compression.
pub fn decompressed(blob: &[u8]) -> io::Result<Box<dyn Read + '_>> {
    let (compression, source) = pipeline::detect(blob)?;
    let budget = pipeline::Budget::new(&Limits::default());
    pipeline::decompress(compression, BufReader::new(source), &budget)?
        .ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// Parses everything that a registry or an archive sends before the layers. A value that is
/// accepted must equal the value parsed from its own text.
///
/// # Panics
/// If the two values differ.
pub fn documents(bytes: &[u8]) {
    if let Ok(Document::Index(entries)) = Document::parse(bytes, None) {
        let _ = candidates(&entries, &Platform::host());
    }
    let _ = ConfigFile::parse(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(reference) = text.parse::<Reference>() {
        assert_eq!(reference.to_string().parse().ok(), Some(reference.clone()));
        assert_eq!(reference.familiar().parse().ok(), Some(reference));
    }
    if let Ok(digest) = text.parse::<Digest>() {
        assert_eq!(digest.to_string(), text);
    }
    if let Ok(platform) = text.parse::<Platform>() {
        assert_eq!(platform.to_string().parse().ok(), Some(platform));
    }
    oci_registry::fuzzing::challenge(text);
}
