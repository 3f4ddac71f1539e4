use std::io;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use fstree::FileKind;
use image_store::{ArtifactFile, StoredImage};
use rootfs_view::{ContentError, OpenError, View};

/// Small files of an image are read whole.
#[derive(Debug)]
pub(crate) struct ImageFiles {
    view: View<ArtifactFile>,
}

/// The files of an image cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ImageFilesError {
    /// A file of the store cannot be opened.
    #[error("cannot open the image's files")]
    Io(#[from] io::Error),
    /// The image's metadata cannot be read.
    #[error("cannot read the image's files")]
    View(#[from] OpenError),
    /// The content of a file cannot be read.
    #[error("cannot read {path} of the image")]
    Content {
        /// The path in the image.
        path: String,
        /// The error of its content.
        #[source]
        source: ContentError,
    },
    /// A file is larger than one of its purpose.
    #[error("{path} of the image has {size_bytes} bytes, the limit is {limit_bytes}")]
    TooLarge {
        /// The path in the image.
        path: String,
        /// Its length, in bytes.
        size_bytes: u64,
        /// The longest that is read, in bytes.
        limit_bytes: u64,
    },
}

impl Diagnose for ImageFilesError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Io(source) => source.diagnosis(),
            Self::View(source) => Diagnosis::of_foreign(source),
            Self::Content { source, .. } => Diagnosis::of_foreign(source),
            Self::TooLarge { path, .. } => {
                Diagnosis::new(ErrorKind::InvalidArgument).detail("path", path)
            }
        }
    }
}

impl ImageFiles {
    /// Opens the merged files of an image.
    pub(crate) fn open(image: &StoredImage) -> Result<Self, ImageFilesError> {
        let (fsmeta, layers) = image.open()?;
        let view = View::open_image(fsmeta, layers)?;
        Ok(Self { view })
    }

    /// Reads the file at a path; its symlinks lead to files of the image alone. `None` if there is no regular file.
    pub(crate) fn read(
        &self,
        path: &str,
        limit_bytes: u64,
    ) -> Result<Option<Vec<u8>>, ImageFilesError> {
        let Ok(id) = self.view.resolve(path.as_bytes(), true) else {
            return Ok(None);
        };
        let FileKind::Regular(content) = &self.view.tree().inode(id).kind else {
            return Ok(None);
        };
        let size_bytes = content.size_bytes();
        let too_large = || ImageFilesError::TooLarge {
            path: path.to_owned(),
            size_bytes,
            limit_bytes,
        };
        if size_bytes > limit_bytes {
            return Err(too_large());
        }
        let length = usize::try_from(size_bytes).map_err(|_| too_large())?;
        let mut bytes = vec![0; length];
        let read = self.view.read_at(content, 0, &mut bytes);
        read.map_err(|source| ImageFilesError::Content {
            path: path.to_owned(),
            source,
        })?;
        Ok(Some(bytes))
    }
}
