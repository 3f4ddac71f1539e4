use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

use fs_err::File;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use rustix::fs::OFlags;
use tempfile::{Builder, TempDir};

use crate::{DIRECTORY_MODE, owner};

/// Returns the directory that a file is in: `.` for a name alone, whose parent is an empty path.
pub fn directory_of(file: &Path) -> &Path {
    let parent = file.parent();
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Makes a directory that does not exist yet.
///
/// # Errors
/// Fails as [`fs_err::create_dir`] does.
pub fn create_directory(path: &Path) -> io::Result<()> {
    let made = DirBuilder::new().mode(DIRECTORY_MODE).create(path);
    made.map_err(|error| {
        let message = format!("failed to create directory `{}`: {error}", path.display());
        io::Error::new(error.kind(), message)
    })?;
    give(path)
}

/// Makes a directory and its missing parents.
/// An existing directory is left unchanged, also on a read-only filesystem.
///
/// # Errors
/// Fails as [`fs_err::create_dir_all`] does.
pub fn ensure_directory(path: &Path) -> io::Result<()> {
    let made = match (create_directory(path), path.parent()) {
        (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
            ensure_directory(parent)?;
            create_directory(path)
        }
        (made, _) => made,
    };
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Makes a directory in `parent` with a unique name that begins with `prefix`.
/// It is removed when the value is dropped.
///
/// # Errors
/// Fails as [`Builder::tempdir_in`] does.
pub fn temporary_directory(parent: &Path, prefix: &str) -> io::Result<TempDir> {
    let directory = Builder::new()
        .prefix(prefix)
        .permissions(Permissions::from_mode(DIRECTORY_MODE))
        .tempdir_in(parent)?;
    give(directory.path())?;
    Ok(directory)
}

/// Gives a new directory to the owner of the directory that contains it.
fn give(path: &Path) -> io::Result<()> {
    if owner::owner_to_be(&fs_err::symlink_metadata(path)?, path)?.is_none() {
        return Ok(());
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let opened = File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    owner::give(opened.file(), path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_alone_lies_in_the_working_directory() {
        assert_eq!(directory_of(Path::new("upper.ext4")), Path::new("."));
        let below = directory_of(Path::new("disks/upper.ext4"));
        assert_eq!(below, Path::new("disks"));
    }
}
