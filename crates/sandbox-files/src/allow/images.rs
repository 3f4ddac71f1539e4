//! The images of files that were let in, beside the sandbox.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use durable_files::UnfinishedFile;
use msb_runtime::{ChangeLock, Sandbox, SandboxPaths, current_staged};
use staged_image::{LetInImages, Listing, StoreError};

use crate::disks::DiskReader;

/// An image of files that are being let in. It is removed unless it is published.
#[derive(Debug)]
pub(super) struct LetInImage {
    file: UnfinishedFile,
    files: SandboxPaths,
    /// The path of the image of staged directories that it belongs to.
    staged: PathBuf,
}

impl LetInImage {
    /// Writes the files of a listing as a new image of a sandbox, which has no name yet.
    ///
    /// # Errors
    /// If a file of the host cannot be read or does not stop changing, the image cannot be written, or there are 256.
    pub(super) fn write(sandbox: &Sandbox, listing: &mut Listing) -> Result<Self, StoreError> {
        let files = sandbox.files.clone();
        let failed = io_error(&files);
        let staged = current_staged(&files).map_err(&failed)?;
        next_path(&files, &staged).map_err(&failed)?;
        let directory = files.let_in();
        durable_files::ensure_directory(&directory).map_err(&failed)?;
        let mut file = UnfinishedFile::create(&directory).map_err(&failed)?;
        listing.write_to(file.file().try_clone().map_err(&failed)?)?;
        Ok(Self {
            file,
            files,
            staged,
        })
    }

    /// Opens the image.
    pub(super) fn open(&mut self) -> io::Result<DiskReader> {
        Ok(DiskReader::File(Arc::new(self.file.file().try_clone()?)))
    }

    /// Gives the image its name, durably, and returns its path. From then on the changes of its files are those since
    /// they were let in, so the sandbox must have them: a file that it made by itself would count as one of them.
    ///
    /// # Errors
    /// If the image cannot be published, or there are 256.
    pub(super) fn publish(self) -> Result<PathBuf, StoreError> {
        let Self {
            file,
            files,
            staged,
        } = self;
        let failed = io_error(&files);
        let _change = ChangeLock::take(&files).map_err(&failed)?;
        let path = next_path(&files, &staged).map_err(&failed)?;
        file.publish(&path, &files.let_in()).map_err(&failed)?;
        durable_files::sync_directory(&files.directory).map_err(&failed)?;
        Ok(path)
    }
}

fn io_error(files: &SandboxPaths) -> impl Fn(io::Error) -> StoreError + use<> {
    let directory = files.let_in();
    move |source| StoreError::Io {
        directory: directory.clone(),
        source,
    }
}

/// Returns the path of the next image that belongs to an image of staged directories.
fn next_path(files: &SandboxPaths, staged: &Path) -> io::Result<PathBuf> {
    let images = LetInImages::new(files.let_in());
    let all = images.belonging_to(staged)?;
    if all.len() >= LetInImages::MAX {
        let message = format!(
            "files were let in {} times, which is the limit until the directories are staged anew",
            LetInImages::MAX
        );
        return Err(io::Error::other(message));
    }
    let number = all.last().map_or(1, |(number, _)| number.saturating_add(1));
    images.path(staged, number)
}
