//! Images in files: OCI layouts, as directories or in a tar, and the archives of `docker save`.

mod choice;
mod container;
mod docker;
mod error;
mod name;
mod oci;
mod open;
mod resolver;
mod skipped;
mod slice;
mod tar_index;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

pub use choice::{Choice, InvalidChoice};
pub use error::ArchiveError;
use oci_layers::Limits;
pub use skipped::Skipped;

use container::Container;
use image_store::session::Session;
use oci_image::Digest;
use oci_image::Image;
use oci_image::Platform;

/// An archive whose images have been found.
#[derive(Debug)]
pub(crate) struct Archive {
    container: Container,
    /// The names of blobs that are not at their place in an OCI layout.
    files: BTreeMap<Digest, String>,
}

/// An image of an archive, and its names there.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) image: Image,
    pub(crate) names: BTreeSet<String>,
    files: Option<BTreeMap<Digest, String>>,
}

impl Archive {
    /// Opens an archive, from a path or from standard input, and finds its images for the platform, or
    /// the one that was chosen. Blocks the thread.
    pub(crate) fn open(
        path: Option<&Path>,
        session: &Session,
        wanted: &Platform,
        choice: Option<&Choice>,
        limits: &Limits,
    ) -> Result<(Self, Vec<Found>, Skipped), ArchiveError> {
        let container = match path {
            Some(path) => open::open_path(path, session, limits)?,
            None => open::open_stdin(session, limits)?,
        };
        let (mut images, skipped) = if oci::is_layout(&container) {
            oci::images(&container, wanted, choice)?
        } else if docker::is_archive(&container) {
            docker::images(&container, wanted, choice)?
        } else {
            return Err(ArchiveError::Unknown {
                path: container.path,
            });
        };
        if images.is_empty() {
            return Err(ArchiveError::Empty {
                path: container.path,
            });
        }
        let files = images
            .iter_mut()
            .filter_map(|found| found.files.take())
            .flatten()
            .collect();
        Ok((Self { container, files }, images, skipped))
    }

    /// Opens the blob of this digest, which is not verified here.
    pub(crate) fn open_blob(&self, digest: &Digest) -> Result<Box<dyn Read + Send>, ArchiveError> {
        let path = self
            .files
            .get(digest)
            .cloned()
            .unwrap_or_else(|| resolver::blob_path(digest));
        Ok(self.container.open(&path)?.reader)
    }
}
