//! Parsers of untrusted bytes, for the fuzz targets alone.

use crate::challenge::Challenge;

/// Parses a `WWW-Authenticate` header.
pub fn challenge(header: &str) {
    let _ = Challenge::parse([header]);
}
