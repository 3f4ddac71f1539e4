use std::io;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use oci_image::Reference;

use super::find::FindError;
use super::record::ReferenceFile;
use super::session::Session;
use super::{Store, kept};

/// An error for a name that an image cannot get.
#[derive(Debug, thiserror::Error)]
pub enum TagError {
    /// The image is not in the store.
    #[error("cannot tag the image")]
    Find(#[from] FindError),
    /// The new name has a digest, which says by itself what it names.
    #[error("cannot tag an image as {name}: the name must not contain a digest")]
    Digest {
        /// The new name.
        name: String,
    },
    /// The store cannot be written.
    #[error("cannot write to the store")]
    Io(#[from] io::Error),
}

impl Diagnose for TagError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Find(source) => source.diagnosis(),
            Self::Digest { .. } => Diagnosis::new(ErrorKind::InvalidArgument)
                .hint("leave out the digest, and add a tag"),
            Self::Io(source) => source.diagnosis(),
        }
    }
}

impl Store {
    /// Gives the image with this name, digest or beginning of a digest a further name. The name
    /// leads to it from then on, also if it named another image.
    ///
    /// # Errors
    /// If the image is not in the store, the name has a digest, or the store cannot be written.
    pub async fn tag(&self, source: &str, name: &Reference) -> Result<(), TagError> {
        if name.digest().is_some() {
            let name = name.familiar();
            return Err(TagError::Digest { name });
        }
        // While the session exists, no image is removed.
        let session = Session::begin(&self.layout).await?;
        let (_, manifest_digest) = self.resolve(source)?;
        let reference = name.canonical().to_string();
        let file = ReferenceFile {
            reference,
            manifest_digest,
        };
        let path = self.layout.reference(name);
        Ok(kept::write(&self.layout, &session, &path, &file)?)
    }
}
