//! The images of files that were let in, beside the sandbox.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use durable_files::UnfinishedFile;
use fs_err as fs;
use msb_runtime::{ChangeLock, Sandbox, current_staged};
use staged_image::{Listing, StoreError};

/// The most images of one sandbox. Each is an open file while its changes are compared.
const IMAGES_MAX: u64 = 256;

/// Returns the images of the files that were let into a sandbox, the oldest first: those that belong to its image
/// of staged directories.
///
/// # Errors
/// If a file or the directory cannot be read.
pub(crate) fn let_in_images(sandbox: &Sandbox) -> io::Result<Vec<PathBuf>> {
    let images = numbered(sandbox)?;
    Ok(images.into_iter().map(|(_, path)| path).collect())
}

/// Writes the files of a listing as a new image of a sandbox, durably, and returns its path.
///
/// # Errors
/// If a file of the host cannot be read or does not stop changing, the image cannot be written, or there are 256.
pub(super) fn add_let_in(sandbox: &Sandbox, listing: &mut Listing) -> Result<PathBuf, StoreError> {
    let directory = sandbox.files.let_in();
    let failed = |source| StoreError::Io {
        directory: directory.clone(),
        source,
    };
    let _change = ChangeLock::take(&sandbox.files).map_err(failed)?;
    let last = numbered(sandbox).map_err(failed)?.pop();
    let number = last.map_or(1, |(number, _)| number + 1);
    if number > IMAGES_MAX {
        let message = format!(
            "files were let in {IMAGES_MAX} times, which is the limit until the directories are staged anew"
        );
        return Err(failed(io::Error::other(message)));
    }
    let prefix = prefix(sandbox).map_err(failed)?;
    durable_files::ensure_directory(&directory).map_err(failed)?;
    let mut file = UnfinishedFile::create(&directory).map_err(failed)?;
    listing.write_to(file.file().try_clone().map_err(failed)?)?;
    let path = directory.join(format!("{prefix}{number}.erofs"));
    file.publish(&path, &directory).map_err(failed)?;
    durable_files::sync_directory(&sandbox.files.directory).map_err(failed)?;
    Ok(path)
}

/// Returns the images with their numbers, in ascending order.
fn numbered(sandbox: &Sandbox) -> io::Result<Vec<(u64, PathBuf)>> {
    let entries = match fs::read_dir(sandbox.files.let_in()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let prefix = prefix(sandbox)?;
    let mut images = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let number = name
            .strip_prefix(&prefix)
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
