use std::io;
use std::path::Path;

use durable_files::remove_files;
use fs_err as fs;

use super::{Lock, RemoveError, Sandbox, SandboxPaths};

impl Sandbox {
    /// Removes a stopped sandbox and its upper disk, durably.
    /// If the sandbox was to be removed once it stopped, and a power cut brings it back, the next
    /// sweep removes it.
    ///
    /// # Errors
    /// If the sandbox is running, or its directory cannot be removed.
    pub fn remove(self) -> Result<(), RemoveError> {
        let is_durable = !self.spec.is_removed_when_stopped();
        remove_directory(&self.files, &self.spec.name, is_durable)
    }
}

/// Removes the directory of a sandbox that does not run.
pub(super) fn remove_directory(
    files: &SandboxPaths,
    name: &str,
    is_durable: bool,
) -> Result<(), RemoveError> {
    let io_error = |source| RemoveError::Io {
        directory: files.directory.clone(),
        source,
    };
    // Another process's sweep may be faster: a sandbox that is gone is removed.
    let present = |result: io::Result<()>| match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(error)),
        _ => Ok(()),
    };
    let _lock = match Lock::take_existing(files) {
        Ok(Some(lock)) => Some(lock),
        Ok(None) => {
            // The lock's holder may be removing the sandbox.
            if !fs::exists(files.spec()).map_err(io_error)? {
                return Ok(());
            }
            return Err(RemoveError::Running {
                name: name.to_owned(),
            });
        }
        // The sandbox is gone or almost gone: a lock that does not exist has no holder.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(io_error(error)),
    };
    // The description goes first, so that a removal that is cut short leaves no sandbox.
    present(fs::remove_file(files.spec()))?;
    for disks in [&files.directory, &files.generations()] {
        remove_files(disks);
    }
    present(remove_tree(&files.directory))?;
    match files.directory.parent() {
        Some(sandboxes) if is_durable => durable_files::sync_directory(sandboxes).map_err(io_error),
        _ => Ok(()),
    }
}

/// Removes a directory. A process that merges generations in the background may make a file in it
/// meanwhile: it makes no directory, so it fails once its own is gone.
fn remove_tree(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            fs::remove_dir_all(directory)
        }
        removed => removed,
    }
}
