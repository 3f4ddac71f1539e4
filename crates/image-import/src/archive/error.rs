use std::io;
use std::path::PathBuf;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use oci_image::{ManifestError, excerpt};
use oci_layers::{Exceeded, InvalidHeader, RawPath};

use super::choice::Choice;
use crate::hints::of_source;

/// The images of an archive cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The archive cannot be read.
    #[error("cannot read it")]
    Io(#[source] io::Error),
    /// The file is none of the three known kinds of archive.
    #[error(
        "{} is not an image archive: expected a directory with an OCI layout, or a tar with oci-layout or manifest.json in it",
        .path.display()
    )]
    Unknown {
        /// The path of the archive.
        path: PathBuf,
    },
    /// The archive ends within an entry.
    #[error("{} is truncated: it ends, after {length_bytes} bytes, within an entry", .path.display())]
    Truncated {
        /// The path of the archive.
        path: PathBuf,
        /// The length of the archive, in bytes.
        length_bytes: u64,
    },
    /// A header of the tar, or a record that extends it, is malformed.
    #[error("{} is corrupt: the tar header at byte {offset_bytes} is invalid", .path.display())]
    Header {
        /// The path of the archive.
        path: PathBuf,
        /// Offset of the header in the tar.
        offset_bytes: u64,
        /// The fault of the header.
        #[source]
        source: InvalidHeader,
    },
    /// A name in the tar, or the target of a link, is not UTF-8.
    #[error("{} is refused: the name '{name}' at byte {offset_bytes} is not UTF-8", .path.display())]
    Name {
        /// The path of the archive.
        path: PathBuf,
        /// The name or the target.
        name: RawPath,
        /// Offset of its header in the tar.
        offset_bytes: u64,
    },
    /// A file of the tar is stored with its holes left out.
    #[error(
        "{} is refused: '{name}' is a sparse file; write the archive without sparse files (tar \
         without -S)",
        .path.display()
    )]
    Sparse {
        /// The path of the archive.
        path: PathBuf,
        /// The file's name in the tar.
        name: String,
    },
    /// The compressed archive cannot be decompressed.
    #[error("cannot decompress {}", .path.display())]
    Broken {
        /// The path of the archive.
        path: PathBuf,
        /// The error of the decoder.
        #[source]
        source: io::Error,
    },
    /// A file that another one names is not in the archive.
    #[error("{} has no '{}'", .path.display(), excerpt(.name))]
    Missing {
        /// The path of the archive.
        path: PathBuf,
        /// The name of the missing file.
        name: String,
    },
    /// The archive exceeds a limit.
    #[error("{} exceeds a limit", .path.display())]
    Limit {
        /// The path of the archive.
        path: PathBuf,
        /// The exceeded limit, with its value.
        #[source]
        source: Exceeded,
    },
    /// A table of the archive is not JSON of the expected form.
    #[error("cannot parse '{name}' in {}", .path.display())]
    Json {
        /// The path of the archive.
        path: PathBuf,
        /// The name of the table.
        name: &'static str,
        /// The parser's error, with its position.
        #[source]
        source: serde_json::Error,
    },
    /// A document of an image is malformed or unsuitable.
    #[error("cannot use an image in {}", .path.display())]
    Manifest {
        /// The path of the archive.
        path: PathBuf,
        /// The fault of the document.
        #[source]
        source: ManifestError,
    },
    /// The archive has no entry that was chosen.
    #[error("{} has no image '{choice}'{}", .path.display(), listed(.names))]
    NotChosen {
        /// The path of the archive.
        path: PathBuf,
        /// The name, position or digest that was given.
        choice: Choice,
        /// Names in the archive, shortened and escaped, at most 8.
        names: Vec<String>,
    },
    /// The archive has no image in it.
    #[error("{} contains no image", .path.display())]
    Empty {
        /// The path of the archive.
        path: PathBuf,
    },
}

impl Diagnose for ArchiveError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Io(source) if source.kind() == io::ErrorKind::NotFound => {
                Diagnosis::new(ErrorKind::PathNotFound)
            }
            Self::Io(source) | Self::Broken { source, .. } => of_source(source),
            Self::Header { source, .. } => of_source(source),
            Self::Limit { source, .. } => of_source(source),
            Self::Json { source, .. } => of_source(source),
            Self::Manifest { source, .. } => of_source(source),
            Self::Unknown { .. }
            | Self::Truncated { .. }
            | Self::Name { .. }
            | Self::Sparse { .. }
            | Self::Missing { .. }
            | Self::NotChosen { .. }
            | Self::Empty { .. } => Diagnosis::default(),
        }
    }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => ", and its images have no names".to_owned(),
        names => format!(": it has {}", names.join(", ")),
    }
}
