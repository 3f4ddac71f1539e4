//! The images of files that were let in, beside the sandbox.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use durable_files::UnfinishedFile;
use fs_err as fs;
use msb_runtime::{ChangeLock, Sandbox, SandboxPaths, current_staged};
use staged_image::{Listing, StoreError};

use crate::disks::DiskReader;

/// The most images of one sandbox. Each is an open file while its changes are compared.
const IMAGES_MAX: u64 = 256;

/// Returns the images of the files that were let into a sandbox, the oldest first: those that belong to its image
/// of staged directories.
///
/// # Errors
/// If a file or the directory cannot be read.
pub(crate) fn let_in_images(sandbox: &Sandbox) -> io::Result<Vec<PathBuf>> {
    // Most sandboxes have none, and no image of staged directories.
    if !fs::exists(sandbox.files.let_in())? {
        return Ok(Vec::new());
    }
    let images = numbered(&sandbox.files, &prefix(sandbox)?)?;
    Ok(images.into_iter().map(|(_, path)| path).collect())
}

/// An image of files that are being let in. It is removed unless it is published.
#[derive(Debug)]
pub(super) struct LetInImage {
    file: UnfinishedFile,
    files: SandboxPaths,
    /// The beginning of its name.
    prefix: String,
}

impl LetInImage {
    /// Writes the files of a listing as a new image of a sandbox, which has no name yet.
    ///
    /// # Errors
    /// If a file of the host cannot be read or does not stop changing, the image cannot be written, or there are 256.
    pub(super) fn write(sandbox: &Sandbox, listing: &mut Listing) -> Result<Self, StoreError> {
        let files = sandbox.files.clone();
        let failed = io_error(&files);
        let prefix = prefix(sandbox).map_err(&failed)?;
        next_number(&files, &prefix).map_err(&failed)?;
        let directory = files.let_in();
        durable_files::ensure_directory(&directory).map_err(&failed)?;
        let mut file = UnfinishedFile::create(&directory).map_err(&failed)?;
        listing.write_to(file.file().try_clone().map_err(&failed)?)?;
        Ok(Self {
            file,
            files,
            prefix,
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
            prefix,
        } = self;
        let failed = io_error(&files);
        let _change = ChangeLock::take(&files).map_err(&failed)?;
        let number = next_number(&files, &prefix).map_err(&failed)?;
        let directory = files.let_in();
        let path = directory.join(format!("{prefix}{number}.erofs"));
        file.publish(&path, &directory).map_err(&failed)?;
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

/// Returns the number of the next image.
fn next_number(files: &SandboxPaths, prefix: &str) -> io::Result<u64> {
    let last = numbered(files, prefix)?.pop();
    let number = last.map_or(1, |(number, _)| number + 1);
    if number > IMAGES_MAX {
        let message = format!(
            "files were let in {IMAGES_MAX} times, which is the limit until the directories are staged anew"
        );
        return Err(io::Error::other(message));
    }
    Ok(number)
}

/// Returns the images with their numbers, in ascending order.
fn numbered(files: &SandboxPaths, prefix: &str) -> io::Result<Vec<(u64, PathBuf)>> {
    let entries = match fs::read_dir(files.let_in()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut images = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let number = name
            .strip_prefix(prefix)
            .and_then(|name| name.strip_suffix(".erofs"));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            images.push((number, path));
        }
    }
    images.sort_unstable();
    Ok(images)
}

/// Returns the beginning of the names of the images that belong to the sandbox's image of staged directories.
fn prefix(sandbox: &Sandbox) -> io::Result<String> {
    let image = fs::File::open(current_staged(sandbox)?)?.into_parts().0;
    let image = erofs_writer::Image::open(image).map_err(io::Error::other)?;
    Ok(format!("{}-", hex::encode(image.superblock().uuid)))
}
