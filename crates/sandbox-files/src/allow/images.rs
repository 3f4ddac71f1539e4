//! The images of files that were let in, beside the sandbox.

use std::io;
use std::path::PathBuf;

use durable_files::UnfinishedFile;
use msb_runtime::{ChangeLock, Sandbox, current_staged};
use staged_image::{LetInImages, Listing, StoreError};

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
    let images = LetInImages::new(directory.clone());
    let staged = current_staged(&sandbox.files).map_err(failed)?;
    let all = images.belonging_to(&staged).map_err(failed)?;
    if all.len() >= LetInImages::MAX {
        let message = format!(
            "files were let in {} times, which is the limit until the directories are staged anew",
            LetInImages::MAX
        );
        return Err(failed(io::Error::other(message)));
    }
    let number = all.last().map_or(1, |(number, _)| number.saturating_add(1));
    let path = images.path(&staged, number).map_err(failed)?;
    durable_files::ensure_directory(&directory).map_err(failed)?;
    let mut file = UnfinishedFile::create(&directory).map_err(failed)?;
    listing.write_to(file.file().try_clone().map_err(failed)?)?;
    file.publish(&path, &directory).map_err(failed)?;
    durable_files::sync_directory(&sandbox.files.directory).map_err(failed)?;
    Ok(path)
}
