//! Names and documents of OCI images, as values: they are parsed from untrusted text, and nothing
//! here opens a file or a connection.
//!
//! ```
//! use oci_image::{Digest, Document, Platform, Reference};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let reference: Reference = "debian:12".parse()?;
//! assert_eq!(reference.to_string(), "docker.io/library/debian:12");
//! assert_eq!(reference.familiar(), "debian:12");
//!
//! let index = br#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}"#;
//! let document = Document::parse(index, None)?;
//! assert!(matches!(document, Document::Index(entries) if entries.is_empty()));
//! println!("{} for {}", Digest::compute(index), Platform::host());
//! # Ok(())
//! # }
//! ```
//!
//! Digests are SHA-256. Names are read as docker reads them, and documents as the OCI image
//! specification 1.1 and Docker's image manifest version 2, schema 2 define them. A document that
//! two readers could understand differently is refused.

#![forbid(unsafe_code)]

mod child;
mod digest;
mod documents;
mod excerpt;
mod platform;
mod reference;

pub use child::{ChildConfig, ChildConfigError, Instruction, InvalidInstruction};
pub use digest::{Digest, HEX_DIGITS, Hasher, InvalidDigest};
pub use documents::{
    ConfigFile, Descriptor, Document, HistoryEntry, Image, ImageConfig, IndexEntry, Layer,
    Manifest, ManifestError, RawDescriptor, candidates, check_document, history, make_manifest,
    media_type,
};
pub use excerpt::excerpt;
pub use platform::{InvalidPlatform, Platform};
pub use reference::{InvalidReference, ManifestDigest, Reference, is_loopback};
