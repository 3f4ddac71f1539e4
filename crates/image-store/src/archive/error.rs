use std::io;
use std::path::PathBuf;

use oci_layers::Exceeded;

use crate::image::ManifestError;
use crate::text::excerpt;

/// Why an archive cannot be followed to its images.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The host cannot read it.
    #[error("cannot read it")]
    Io(#[source] io::Error),
    /// It is neither of the three that are known.
    #[error(
        "{} is not an image archive: expected a directory with an OCI layout, or a tar with oci-layout or manifest.json in it",
        .path.display()
    )]
    Unknown {
        /// Where it is.
        path: PathBuf,
    },
    /// It ends before it should.
    #[error("{} is truncated: it ends, after {length_bytes} bytes, within an entry", .path.display())]
    Truncated {
        /// Where it is.
        path: PathBuf,
        /// How long it is.
        length_bytes: u64,
    },
    /// What should be a header is none.
    #[error("{} is corrupt: no valid tar header at byte {offset_bytes}", .path.display())]
    Header {
        /// Where it is.
        path: PathBuf,
        /// Where in it.
        offset_bytes: u64,
    },
    /// Its own compression is broken.
    #[error("{} cannot be decompressed", .path.display())]
    Broken {
        /// Where it is.
        path: PathBuf,
        /// What is broken.
        #[source]
        source: io::Error,
    },
    /// A file that another names is not in it.
    #[error("{} has no '{}'", .path.display(), excerpt(.name))]
    Missing {
        /// Where it is.
        path: PathBuf,
        /// Which file.
        name: String,
    },
    /// More than a limit allows.
    #[error("{} is too much", .path.display())]
    Limit {
        /// Where it is.
        path: PathBuf,
        /// Which limit it is beyond.
        #[source]
        source: Exceeded,
    },
    /// One of its own tables is not the JSON that it should be.
    #[error("'{name}' in {} cannot be parsed", .path.display())]
    Json {
        /// Where it is.
        path: PathBuf,
        /// Which table.
        name: &'static str,
        /// Where and why.
        #[source]
        source: serde_json::Error,
    },
    /// A document of an image cannot be followed.
    #[error("cannot use an image of {}", .path.display())]
    Manifest {
        /// Where it is.
        path: PathBuf,
        /// Why not.
        #[source]
        source: ManifestError,
    },
    /// It holds no image at all.
    #[error("{} has no image in it", .path.display())]
    Empty {
        /// Where it is.
        path: PathBuf,
    },
}
