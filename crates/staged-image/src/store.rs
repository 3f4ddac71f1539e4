use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use diagnosis::{Diagnose, Diagnosis};
use durable_files::UnfinishedFile;
use fs_err as fs;

use crate::{Key, Listing, StageError};

/// The end of an image's name, behind its key.
const SUFFIX: &str = ".erofs";
/// The number of times that an image is written because it is removed at once.
const TRIES: u32 = 3;

/// The directory of the images of staged directories. An image has a name there and one in each sandbox that
/// uses it; one that no sandbox uses can be removed.
#[derive(Debug, Clone)]
pub struct StagedImages {
    directory: PathBuf,
}

/// An image of staged directories cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file of the host cannot be staged.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The directory of the images cannot be written to.
    #[error("cannot keep the image of the staged directories in {}", directory.display())]
    Io {
        /// The directory of the images.
        directory: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
}

impl Diagnose for StoreError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Stage(source) => source.diagnosis(),
            Self::Io { source, .. } => source.diagnosis(),
        }
    }
}

/// An image of staged directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredImage {
    path: PathBuf,
    /// The device and the inode of its file, which all its names share.
    pub identity: (u64, u64),
    /// The space that it takes on the disk, in bytes.
    pub allocated_bytes: u64,
    /// True if a sandbox uses it.
    pub is_used: bool,
}

impl StagedImages {
    /// Returns the images in a directory, which need not exist.
    pub const fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Gives the image of a listing the name `destination`, on the same filesystem. The image is written if no
    /// listing with this key was staged before. The name of the image is durable; that of the destination is
    /// so once its directory is synced.
    ///
    /// # Errors
    /// If a file of the host cannot be read or does not stop changing, or the image cannot be written. Nothing
    /// is left then.
    pub fn stage(&self, listing: &mut Listing, destination: &Path) -> Result<(), StoreError> {
        let failed = |source| StoreError::Io {
            directory: self.directory.clone(),
            source,
        };
        for _ in 0..TRIES {
            if self.link(listing.key(), destination).map_err(failed)? {
                return Ok(());
            }
            durable_files::ensure_directory(&self.directory).map_err(failed)?;
            let mut file = UnfinishedFile::create(&self.directory).map_err(failed)?;
            listing.write(file.file().try_clone().map_err(failed)?)?;
            // Another process may prune it before it has its second name.
            let path = self.path(listing.key());
            file.publish(&path, &self.directory).map_err(failed)?;
        }
        let linked = self.link(listing.key(), destination).map_err(failed)?;
        if linked {
            Ok(())
        } else {
            Err(failed(io::ErrorKind::NotFound.into()))
        }
    }

    /// Gives an image another name. Returns false if there is no image with this key.
    fn link(&self, key: Key, destination: &Path) -> io::Result<bool> {
        match fs::hard_link(self.path(key), destination) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A missing directory of the destination is no missing image.
                fs::metadata(durable_files::directory_of(destination))?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn path(&self, key: Key) -> PathBuf {
        self.directory.join(format!("{key}{SUFFIX}"))
    }

    /// Returns all images.
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn all(&self) -> io::Result<Vec<StoredImage>> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut images = Vec::new();
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            let is_image = path.extension().is_some_and(|end| end == &SUFFIX[1..]);
            match entry.metadata() {
                Ok(metadata) if is_image && metadata.is_file() => images.push(StoredImage {
                    path,
                    identity: (metadata.dev(), metadata.ino()),
                    allocated_bytes: metadata.blocks().saturating_mul(512),
                    is_used: metadata.nlink() > 1,
                }),
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(images)
    }

    /// Returns the paths of the unfinished images of processes that were killed. One that a process writes is not among
    /// them.
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn left_overs(&self) -> io::Result<Vec<PathBuf>> {
        durable_files::leftovers(&self.directory)
    }

    /// Removes an image that no sandbox uses. One that a sandbox has got meanwhile keeps its name there.
    ///
    /// # Errors
    /// If the image cannot be removed.
    pub fn remove(&self, image: &StoredImage) -> io::Result<()> {
        match fs::remove_file(&image.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}
